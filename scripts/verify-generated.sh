#!/usr/bin/env bash
# Generates everything again and fails when that changes a file: then what is committed was not current.
set -euo pipefail
cd "$(dirname "$0")/.."
generated=(gen third_party/proto executor/api docs/configuration.md)

fingerprint() {
	for path in "${generated[@]}"; do
		[ -e "$path" ] && find "$path" -type f -print0
	done | sort -z | xargs -0 sha256sum | sha256sum
}

before=$(fingerprint)
make --no-print-directory generate
if [ "$(fingerprint)" != "$before" ]; then
	echo "Generated files were not current. make generate has just written them; look at them and commit:" >&2
	git --no-pager diff --stat -- "${generated[@]}" >&2
	exit 1
fi
echo "Generated files are current."
