package kubeflow

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// maxName leaves room for the role and the index that the operator appends, within the 63 characters of a host name.
const maxName = 45

// install is what the cluster needs.
const install = "the Kubeflow training operator (v1)"

// PyTorch describes the plugin for tasks of the type pytorch.
func PyTorch(pods podspec.Config, own operated.Config) plugin.Definition {
	kind := jobs("pytorch", "PyTorchJob", "pytorchjobs")
	kind.Spec, kind.Primary = pytorch, first("master", "worker")
	return operated.Definition(kind, pods, own)
}

// MPI describes the plugin for tasks of the type mpi.
func MPI(pods podspec.Config, own operated.Config) plugin.Definition {
	kind := jobs("mpi", "MPIJob", "mpijobs")
	kind.Spec, kind.Primary = mpi, first("launcher")
	return operated.Definition(kind, pods, own)
}

// TensorFlow describes the plugin for tasks of the type tensorflow.
func TensorFlow(pods podspec.Config, own operated.Config) plugin.Definition {
	kind := jobs("tensorflow", "TFJob", "tfjobs")
	kind.Spec, kind.Primary = tensorflow, first("chief", "worker")
	return operated.Definition(kind, pods, own)
}

// jobs is what the kinds have in common. The operator finds the container of the task by the name of the framework.
func jobs(framework, kind, resource string) operated.Kind {
	return operated.Kind{
		Name: framework, Types: []string{framework}, Install: install, Container: framework,
		Object:   schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: kind},
		Resource: resource, MaxName: maxName, Read: read, Ranked: true, KeepsPods: true,
	}
}

// indexLabel is the index of a pod among those of its role.
const indexLabel = "training.kubeflow.org/replica-index"

// first returns a function that tells the first pod of any of these roles. Where there are both, the pods of one have directories of
// their own.
func first(roles ...string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		for _, role := range roles {
			if pod.Labels[podspec.LabelRole] == role {
				return (pod.Labels[indexLabel] == "0" || pod.Labels[indexLabel] == "") && !podspec.HasOwnFiles(pod)
			}
		}
		return false
	}
}

// counted returns how many pods a job had when its status was written, and how many of these had failed.
func counted(object *unstructured.Unstructured) (pods, failed int) {
	roles, _, _ := unstructured.NestedMap(object.Object, "status", "replicaStatuses")
	for role := range roles {
		number := func(field string) int {
			value, _, _ := unstructured.NestedInt64(roles, role, field)
			return int(value)
		}
		pods, failed = pods+number("active")+number("succeeded")+number("failed"), failed+number("failed")
	}
	return pods, failed
}

// read says what the conditions of a job mean.
func read(object *unstructured.Unstructured) operated.Reading {
	if operated.Condition(object, "Succeeded") != nil {
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	}
	if failed := operated.Condition(object, "Failed"); failed != nil {
		pods, lost := counted(object)
		return operated.Reading{
			Phase: common.ActionPhase_ACTION_PHASE_FAILED, Reason: failed.Reason, Message: failed.Message, Pods: pods,
			// Without a failed pod, it is a limit of the task, such as its active_deadline_seconds.
			ByUser: lost == 0,
		}
	}
	reading := operated.Reading{
		Suspended: operated.Condition(object, "Suspended") != nil || operated.Suspended(object, "runPolicy", "suspend"),
	}
	if again := operated.Condition(object, "Restarting"); again != nil {
		reading.Phase = common.ActionPhase_ACTION_PHASE_RUNNING
		reading.Reason, reading.Message = again.Reason, again.Message
	}
	return reading
}
