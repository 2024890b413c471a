#!/usr/bin/env bash
# Creates a Python environment, once per list of requirements. Arguments: its directory, then the arguments of pip install.
set -euo pipefail
dir=$1
shift
stamp=$dir/.requirements
wanted=$(printf '%s\n' "$@"; for word in "$@"; do [ -f "$word" ] && cat "$word"; done; python3 --version)
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && exit 0
echo "Preparing Python in ${dir#"$PWD"/} ($*) ..."
python3 -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$@"
printf '%s\n' "$wanted" >"$stamp"
