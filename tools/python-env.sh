#!/usr/bin/env bash
# Creates a Python environment, once per list of requirements. Arguments: its directory, then the arguments of pip install. uv, which
# the demo uses as well, installs in half the time of pip, which takes over where only pip is configured to find packages.
set -euo pipefail
dir=$1
shift
stamp=$dir/.requirements
wanted=$(printf '%s\n' "$@"; for word in "$@"; do [ -f "$word" ] && cat "$word"; done; python3 --version)
[ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && exit 0
echo "Preparing Python in ${dir#"$PWD"/} ($*) ..."
python3 -m venv --clear "$dir"
"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$(grep -ho '^uv==.*' examples/requirements.txt)"
"$dir/bin/uv" pip install --quiet --python "$dir" --compile-bytecode "$@" ||
	"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --no-input "$@"
printf '%s\n' "$wanted" >"$stamp"
