#!/usr/bin/env bash
# Reports which languages are missing or too old, and how to install them. Arguments: the required ones, of go node python.
set -euo pipefail
failed=0

# at_least FOUND WANTED compares dotted versions.
at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n1)" = "$2" ]; }

check() { # NAME FOUND WANTED HOW
	if [ -z "$2" ]; then
		echo "Missing: $1 $3 or newer. $4" >&2
		failed=1
	elif ! at_least "$2" "$3"; then
		echo "Too old: $1 is $2, required is $3 or newer. $4" >&2
		failed=1
	fi
}

for need in "$@"; do
	case $need in
	go) check Go "$(go env GOVERSION 2>/dev/null | sed 's/^go//')" 1.26 'Get it from https://go.dev/dl' ;;
	node) check Node "$(node --version 2>/dev/null | sed 's/^v//')" 20.19 'Get it from https://nodejs.org' ;;
	python) check Python "$(python3 -c 'import platform; print(platform.python_version())' 2>/dev/null)" 3.10 'Get it from https://www.python.org, or: sudo apt-get install python3 python3-venv' ;;
	esac
done
exit $failed
