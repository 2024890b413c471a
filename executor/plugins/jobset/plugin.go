package jobset

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Name selects this plugin in the configuration and in tasks.
const Name = "jobset"

// TaskType is the type of the SDK's ClusteredTaskEnvironment.
const TaskType = "clustered-task"

// maxName leaves room for what the controller appends to the names of pods, "-workers-0-", five digits and a suffix of
// six characters, within the 63 characters of a host name.
const maxName = 41

// Definition describes the plugin to the executor.
func Definition(pods podspec.Config, own operated.Config) plugin.Definition {
	return operated.Definition(operated.Kind{
		Name: Name, Types: []string{TaskType}, Install: "the JobSet controller",
		Object:   schema.GroupVersionKind{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"},
		Resource: "jobsets", MaxName: maxName,
		Spec: spec, Read: read, Primary: isFirst, Ranked: true,
	}, pods, own)
}

// isFirst reports whether a pod has the index 0. The label is read, since cached pods have no annotations.
func isFirst(pod *corev1.Pod) bool {
	return pod.Labels[batchv1.JobCompletionIndexAnnotation] == "0"
}

// read says what the conditions of a JobSet mean. It creates its Jobs at once, so their pods say the rest.
func read(object *unstructured.Unstructured) operated.Reading {
	if done := operated.Condition(object, "Completed"); done != nil {
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	}
	if failed := operated.Condition(object, "Failed"); failed != nil {
		// A pod whose program failed stays, and is to blame. Where none is there, it was deleted, which is not a failure of
		// the task.
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_FAILED, Reason: failed.Reason, Message: failed.Message}
	}
	reading := operated.Reading{Suspended: operated.Condition(object, "Suspended") != nil || operated.Suspended(object, "suspend")}
	if restarts, _, _ := unstructured.NestedInt64(object.Object, "status", "restarts"); restarts > 0 {
		reading.Phase = common.ActionPhase_ACTION_PHASE_RUNNING
		reading.Reason, reading.Message = "Restarted", sentence.Say("the JobSet restarted all pods after one failed; restart %d", restarts)
	}
	return reading
}
