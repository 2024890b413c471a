#!/bin/sh
# Builds the API server and the store that the cluster tests start (internal/kube/kubetest), into .bin at the root of the
# repository. They come from the demo's module, so that the product's go.mod never sees what they need, and with the
# demo's flags: what the demo has compiled is not compiled again.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
version=1.36.3
mkdir -p "$root/.bin"
export CGO_ENABLED=0
cd "$root/demo"
nice go build -trimpath -buildvcs=false -ldflags="-s -w" -o "$root/.bin/etcd.new" go.etcd.io/etcd/server/v3
mv "$root/.bin/etcd.new" "$root/.bin/etcd"
nice go build -trimpath -buildvcs=false \
	-ldflags="-s -w -X k8s.io/component-base/version.gitVersion=v$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36" \
	-o "$root/.bin/kube-apiserver.new" k8s.io/kubernetes/cmd/kube-apiserver
mv "$root/.bin/kube-apiserver.new" "$root/.bin/kube-apiserver"
