#!/usr/bin/env bash
# Runs a command unless it has succeeded for the same contents. Arguments: a stamp, the files and directories that count, --, the
# command. What git ignores does not count. The tools' versions and the command itself do.
#
# The stamp is a file that remembers the contents for which the command has made its files here. For a command that makes none and
# only checks, it is "check:NAME": the user's cache then remembers success, for all clones, as it does for Go's and the linter's.
# FLYTE_CHECKS names another directory for that; an empty one makes every check run.
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

current=$(contents "$@" | sha256sum | cut -d' ' -f1)
if [[ $stamp == check:* ]]; then
	checks=${FLYTE_CHECKS-${XDG_CACHE_HOME:-$HOME/.cache}/flyte-binary/checks}
	stamp=${checks:-$(mktemp -d)}/${stamp#check:}-$current
fi
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$current" ]; then
	echo "Unchanged since it succeeded: $*"
	touch "$stamp"
	exit 0
fi
"$@"
mkdir -p "$(dirname "$stamp")"
printf '%s\n' "$current" >"$stamp"
[ -z "${checks:-}" ] || find "$checks" -type f -mtime +30 -delete
