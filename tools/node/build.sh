#!/usr/bin/env bash
# Builds the programs of a Kubernetes node into .bin/node, at the versions pinned by the modules next to this script. Only runc
# needs a C compiler and the headers of libseccomp.
set -euo pipefail
. "$(dirname "$0")/env.sh"
mkdir -p "$programs"
version=$(sed -n 's|^require k8s.io/kubernetes \(v[^ ]*\).*|\1|p' "$root/tools/node/kubernetes/go.mod")
minor=$(echo "$version" | cut -d. -f2)

build() { # MODULE LDFLAGS PACKAGE...
	local module=$1 flags=$2 package
	shift 2
	for package in "$@"; do
		(cd "$root/tools/node/$module" && nice go build -ldflags="-s -w $flags" -o "$programs/$(basename "${package%/v3}")" "$package")
	done
}

export CGO_ENABLED=0
about=k8s.io/component-base/version
build kubernetes "-X $about.gitVersion=$version -X $about.gitMajor=1 -X $about.gitMinor=$minor" \
	k8s.io/kubernetes/cmd/{kubelet,kube-controller-manager,kube-scheduler,kube-proxy,kubectl}
build containerd "" github.com/containerd/containerd/v2/cmd/{containerd,containerd-shim-runc-v2,ctr}
build coredns "" github.com/coredns/coredns
build crane "" github.com/google/go-containerregistry/cmd/crane
GOFLAGS="-trimpath -buildvcs=false -tags=seccomp" CGO_ENABLED=1 build runc "" github.com/opencontainers/runc
