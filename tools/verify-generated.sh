#!/usr/bin/env bash
# Generates everything in a copy of the tree, and fails if the result differs from the tree: then the committed files are not
# current.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files --cached --others --exclude-standard -z |
	while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done |
	tar --null -T - -c | tar -x -C "$copy"
ln -s "$root/.bin" "$copy/.bin"
ln -s "$root/tools/node_modules" "$copy/tools/node_modules"
# What is compared is of one moment, whatever is edited meanwhile.
generated=(gen proto/third_party executor/api charts/flyte-binary/files/crds charts/flyte-binary/files/dashboards docs/configuration.md manager/command/configuration.schema.json)
mkdir "$copy/.committed"
(cd "$copy" && cp -r --parents "${generated[@]}" .committed)
make --no-print-directory -C "$copy" generate

status=0
for path in "${generated[@]}"; do
	(cd "$copy" && diff -rq ".committed/$path" "$path") || status=1
done
if [ $status != 0 ]; then
	echo "Generated files are not current. Run make generate, review the changes, and commit them." >&2
	exit 1
fi
echo "Generated files are current."
