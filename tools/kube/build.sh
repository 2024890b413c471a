#!/bin/sh
# Builds the API server and the store that the cluster tests start (internal/kubetest), into .bin at the root of the
# repository. Both are modules of their own, so that the product's go.mod never sees what they need.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$here/../.." && pwd)/.bin
version=1.36.3
mkdir -p "$bin"
export CGO_ENABLED=0
cd "$here/../etcd"
nice go build -trimpath -ldflags="-s -w" -o "$bin/etcd.new" go.etcd.io/etcd/server/v3
mv "$bin/etcd.new" "$bin/etcd"
cd "$here"
nice go build -trimpath \
	-ldflags="-s -w -X k8s.io/component-base/version.gitVersion=v$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36" \
	-o "$bin/kube-apiserver.new" k8s.io/kubernetes/cmd/kube-apiserver
mv "$bin/kube-apiserver.new" "$bin/kube-apiserver"
