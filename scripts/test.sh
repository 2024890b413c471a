#!/usr/bin/env bash
# Runs all tests: those of the console's logic, the end-to-end tests through the released SDK, those of the console in a browser, then
# the Go tests of both modules as one test run. Each runs also when one before it fails, so that one run tells everything; the ends of
# those that failed are told again at the end, for the others' output is between.
set -uo pipefail
cd "$(dirname "$0")/.."
logs=.cache/test
mkdir -p "$logs"
failed=()

suite() { # NAME COMMAND...
	local name=$1
	shift
	"$@" 2>&1 | tee "$logs/$name.log" || failed+=("$name")
}

# One reader for both modules: one summary, at the end.
both_modules='
	status=0
	go test -json -p 2 -timeout 20m ./... || status=1
	cd demo && go test -json -p 2 -timeout 20m ./... || status=1
	exit $status'

suite console npm run --prefix console --silent test
suite e2e .cache/e2e-python/bin/python -m pytest e2e -q -rfE "$@"
suite browser npm run --prefix console --silent e2e
suite go .bin/gotestsum --format pkgname-and-test-fails --raw-command -- bash -c "$both_modules"

for name in ${failed[@]+"${failed[@]}"}; do
	printf '\n== failed: %s (whole output: %s)\n' "$name" "$logs/$name.log"
	tail -n 40 "$logs/$name.log"
done
[ ${#failed[@]} -eq 0 ]
