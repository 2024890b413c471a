#!/usr/bin/env bash
# Builds the program for clusters of another commit: build-commit.sh COMMIT FILE
set -euo pipefail
cd "$(dirname "$0")/.."
commit=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "There is no commit $1 here; a shallow clone has only the last ones." >&2; exit 1; }
mkdir -p "$(dirname "$2")"
program=$(realpath "$2")
sources=$(mktemp -d)
trap 'rm -rf "$sources"' EXIT
git archive "$commit" | tar -x -C "$sources"
cd "$sources"
go build -ldflags '-s -w' -o "$program" ./manager/cmd/flyte-binary
