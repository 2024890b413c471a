#!/usr/bin/env bash
# Builds the program of another commit and that of this tree, and replaces three replicas of the one by the other while
# actions are in flight: upgrade-test.sh COMMIT ACTIONS
set -euo pipefail
cd "$(dirname "$0")/.."
tools/build-commit.sh "$1" .cache/upgrade-old-program
go build -ldflags '-s -w' -o .cache/upgrade-new-program ./manager/cmd/flyte-binary
FLYTE_UPGRADE_OLD=$PWD/.cache/upgrade-old-program FLYTE_UPGRADE_NEW=$PWD/.cache/upgrade-new-program FLYTE_UPGRADE_ACTIONS=$2 \
	go test ./manager -run '^TestARollingUpgradeUnderLoad$' -count 1 -v -timeout 60m
