#!/usr/bin/env bash
# Runs all tests: those of the console's logic, the end-to-end tests through the released SDK, those of the console in a browser, then
# the Go tests of both modules as one test run. Each runs also when one before it fails, so that one run tells everything.
set -uo pipefail
cd "$(dirname "$0")/.."
status=0
npm run --prefix console --silent test || status=1
.cache/e2e-python/bin/python -m pytest e2e -q "$@" || status=1
npm run --prefix console --silent e2e || status=1
# One reader for both modules: one summary, at the end.
.bin/gotestsum --format pkgname-and-test-fails --raw-command -- bash -c '
	status=0
	go test -json -p 2 -timeout 20m ./... || status=1
	cd demo && go test -json -p 2 -timeout 20m ./... || status=1
	exit $status' || status=1
exit $status
