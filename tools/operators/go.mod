// The operators whose objects the executor's plugins create: the versions that are tested. Nothing is built from this
// module yet; tools/operators/crds.sh takes the definitions of their kinds.
module github.com/flyte-binary/flyte-binary/tools/operators

go 1.26

require (
	github.com/kubeflow/spark-operator/v2 v2.5.0
	github.com/kubeflow/training-operator v1.9.3
	github.com/ray-project/kuberay/ray-operator v1.6.0
	sigs.k8s.io/jobset v0.12.0
)
