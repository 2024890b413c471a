#!/bin/sh
# Puts the definitions of operators' kinds into .bin/crds at the root of the repository, for the tests of plugins. They are
# taken from the operators' own modules and packages, whose versions go.mod and this file pin.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dask=2026.3.0
spark=v2.5.0
kueue=v0.15.0
new=$root/.bin/crds.new
rm -rf "$new"
mkdir -p "$new"
cd "$here"
dir() { go mod download -json "$1${2:+@$2}" | sed -n 's/^	"Dir": "\(.*\)",$/\1/p'; }
cp "$(dir sigs.k8s.io/jobset)"/config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml "$new"
for kind in job cluster; do
	cp "$(dir github.com/ray-project/kuberay/ray-operator)/config/crd/bases/ray.io_ray${kind}s.yaml" "$new"
done
for kind in mpi pytorch tf; do
	cp "$(dir github.com/kubeflow/training-operator)/manifests/base/crds/kubeflow.org_${kind}jobs.yaml" "$new"
done
cp "$(dir github.com/kubeflow/spark-operator/v2 $spark)"/config/crd/bases/sparkoperator.k8s.io_sparkapplications.yaml "$new"
cp "$(cd trainer && dir github.com/kubeflow/trainer/v2)"/manifests/base/crds/trainer.kubeflow.org_train*.yaml "$new"
cp "$(dir sigs.k8s.io/kueue $kueue)"/config/components/crd/bases/kueue.x-k8s.io_workloads.yaml "$new"
wheel=$(mktemp -d)
trap 'rm -rf "$wheel"' EXIT
python3 -m venv "$wheel/env"
"$wheel/env/bin/pip" download -q --disable-pip-version-check --no-deps --only-binary :all: -d "$wheel" "dask-kubernetes==$dask"
python3 -m zipfile -e "$wheel"/*.whl "$wheel"
cp "$wheel"/dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator/crds/daskjob.yaml "$new/kubernetes.dask.org_daskjobs.yaml"
chmod -R u+w "$new"
rm -rf "$root/.bin/crds"
mv "$new" "$root/.bin/crds"
