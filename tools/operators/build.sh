#!/bin/sh
# Builds the operators that tests/e2e/test_operators.py starts into .bin/operators at the root of the repository, with the
# definitions of their kinds. They share the versions of the demo's Kubernetes libraries, so that what the demo has compiled is not
# compiled again; Trainer, Spark's and Kueue do not compile with those and have modules of their own.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
to=$root/.bin/operators
export CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false"
mkdir -p "$to/crds"
build() { # DIRECTORY PACKAGE NAME
	cd "$here/$1"
	nice go build -ldflags "-s -w" -o "$to/$3.new" "$2"
	mv "$to/$3.new" "$to/$3"
}
build . ./kuberay kuberay
build . ./training training
build . sigs.k8s.io/jobset jobset
build trainer . trainer
build spark github.com/kubeflow/spark-operator/v2/cmd/operator spark
build kueue . kueue
cd "$here"
dir() { go list -m -f '{{.Dir}}' "$1"; }
jobset=$(dir sigs.k8s.io/jobset)
cp "$jobset/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml" "$to/crds"
cp "$jobset/config/components/webhook/manifests.yaml" "$to/jobset-webhooks.yaml"
cp "$(dir github.com/ray-project/kuberay/ray-operator)"/config/crd/bases/ray.io_ray*.yaml "$to/crds"
for kind in mpi pytorch tf; do
	cp "$(dir github.com/kubeflow/training-operator)/manifests/base/crds/kubeflow.org_${kind}jobs.yaml" "$to/crds"
done
cd "$here/trainer"
cp "$(dir github.com/kubeflow/trainer/v2)"/manifests/base/crds/trainer.kubeflow.org_*.yaml "$to/crds"
cd "$here/spark"
cp "$(dir github.com/kubeflow/spark-operator/v2)"/config/crd/bases/sparkoperator.k8s.io_*.yaml "$to/crds"
cd "$here/kueue"
kueue=$(dir sigs.k8s.io/kueue)
cp "$kueue"/config/components/crd/bases/kueue.x-k8s.io_*.yaml "$to/crds"
cp "$kueue/config/components/webhook/manifests.yaml" "$to/kueue-webhooks.yaml"
dask=$("$root/.cache/operators-python/bin/python" -c 'import dask_kubernetes; print(dask_kubernetes.__path__[0])')
for kind in cluster workergroup job autoscaler; do
	cp "$dask/operator/deployment/helm/dask-kubernetes-operator/crds/dask$kind.yaml" "$to/crds/kubernetes.dask.org_dask${kind}s.yaml"
done
chmod -R u+w "$to"
