#!/usr/bin/env bash
# Builds the programs for the given platforms and packs them and the chart into dist/. `make release` runs it, with the flags of the linker in
# its environment.
set -euo pipefail
epoch=$(git log -1 --format=%ct)
out=dist
rm -rf "$out"

pack() { env -u GOOS -u GOARCH go run ./release -version "$VERSION" -epoch "$epoch" -out "$out" "$@"; }

for platform in "$@"; do
	export GOOS=${platform%/*} GOARCH=${platform#*/}
	built=.cache/release/${GOOS}_$GOARCH
	mkdir -p "$built"
	echo "Building for $platform ..."
	(unset GOOS GOARCH && make --no-print-directory "demo/postgres/bundle/${platform/\//_}/postgres.tar.gz")
	(cd demo && go build -ldflags "$DEMO_LDFLAGS" -o "../$built/flyte-binary" ./cmd/flyte-binary)
	pack -platform "$platform" -program "$built/flyte-binary"
	go build -ldflags "$LDFLAGS" -o "$built/flyte-binary-slim" ./manager/cmd/flyte-binary
	pack -platform "$platform" -program "$built/flyte-binary-slim" -slim
done
pack -chart charts/flyte-binary
pack -sums
ls -l "$out"
