#!/usr/bin/env bash
# Builds the program of another commit and that of this tree, and replaces three replicas of the one by the other while
# actions are in flight: upgrade-test.sh COMMIT ACTIONS
set -euo pipefail
cd "$(dirname "$0")/.."
old=.cache/upgrade-old
git worktree remove --force "$old" 2>/dev/null || true
git worktree prune
git worktree add --detach --force "$old" "$1"
trap 'git worktree remove --force "$old"' EXIT
(cd "$old" && go build -ldflags '-s -w' -o ../upgrade-old-program ./manager/cmd/flyte-binary)
go build -ldflags '-s -w' -o .cache/upgrade-new-program ./manager/cmd/flyte-binary
FLYTE_UPGRADE_OLD=$PWD/.cache/upgrade-old-program FLYTE_UPGRADE_NEW=$PWD/.cache/upgrade-new-program FLYTE_UPGRADE_ACTIONS=$2 \
	go test ./manager -run '^TestARollingUpgradeUnderLoad$' -count 1 -v -timeout 60m
