#!/bin/sh
# Builds the slim program with four versions, which differ in nothing else, and runs an API of one with controllers of the others.
set -eu
cd "$(dirname "$0")/.."
dir=$PWD/.cache/versions
mkdir -p "$dir"
for version in 1.2.0 1.3.0 1.4.0 1.5.0; do
	go build -ldflags "-s -w -X github.com/flyte-binary/flyte-binary/manager/command.Version=$version" -o "$dir/$version" ./manager/cmd/flyte-binary
done
FLYTE_VERSIONS=$dir go test ./manager -run TestVersionsOfRealPrograms -count=1 -v
