#!/usr/bin/env bash
# Runs a command unless it has succeeded here for the same contents. Arguments: a file that remembers the contents, the files and
# directories that count, --, the command. What git ignores does not count. The tools' versions and the command itself do.
set -euo pipefail
stamp=$1
shift
inputs=()
while [ "$1" != -- ]; do
	inputs+=("$1")
	shift
done
shift

contents() {
	printf '%s\n' "$@" "$(go env GOVERSION 2>/dev/null)" "$(node --version 2>/dev/null)"
	git ls-files --cached --others --exclude-standard -z -- "${inputs[@]}" | sort -zu |
		while IFS= read -r -d '' file; do if [ -f "$file" ]; then printf '%s\0' "$file"; fi; done | xargs -0 sha256sum
}

current=$(contents "$@" | sha256sum)
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$current" ] && exit 0
"$@"
mkdir -p "$(dirname "$stamp")"
printf '%s\n' "$current" >"$stamp"
