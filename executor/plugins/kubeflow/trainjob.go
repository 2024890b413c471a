package kubeflow

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

const (
	trainerGroup = "trainer.kubeflow.org"
	// node is the name of the pods and of the container in which Trainer runs a task.
	node = "node"
	// maxTrainJob leaves room for what Trainer and the Job controller append to the names of pods, "-node-0-", five digits and a
	// suffix of six characters, within the 63 characters of a host name.
	maxTrainJob = 44
	// rendezvousPort is the port that Trainer opens on the first pod.
	rendezvousPort = 29500
)

// TrainJob describes the plugin for tasks of the type pytorch where version 2 of the operator is installed.
func TrainJob(pods podspec.Config, own operated.Config) plugin.Definition {
	group := schema.GroupVersion{Group: trainerGroup, Version: "v1alpha1"}
	return operated.Definition(operated.Kind{
		Name: "trainjob", Types: []string{"pytorch"}, Install: "Kubeflow Trainer (v2)", Container: node,
		Object: group.WithKind("TrainJob"), Resource: "trainjobs", MaxName: maxTrainJob,
		Companion: &operated.Companion{Object: group.WithKind("TrainingRuntime"), Resource: "trainingruntimes"},
		Spec:      trainJob, Read: readTrainJob, Ranked: true,
		Primary: func(pod *corev1.Pod) bool { return pod.Labels[batchv1.JobCompletionIndexAnnotation] == "0" },
	}, pods, own)
}

// trainJob returns the specification of a TrainJob, and that of its TrainingRuntime, which has the pods. A runtime is shared by
// the jobs of an installation as a rule; here each attempt has its own, since pods differ by task.
func trainJob(ctx context.Context, draft *operated.Draft) (map[string]any, error) {
	task, err := torch(draft)
	if err != nil {
		return nil, err
	}
	workers, elastic := replicasOf("Worker", "worker", task.GetWorkerReplicas()), task.GetElasticConfig()
	switch {
	case elastic == nil:
		return nil, operated.Bad("elastic_config: is required: a TrainJob has no master; the plugin pytorch runs such tasks")
	case workers.count < 1:
		return nil, operated.Bad("worker_replicas: want at least 1, got %d", workers.count)
	}
	pod, err := draft.Pods(ctx, draft.Role(workers.role, podspec.Different{Image: workers.image, Resources: workers.resource}),
		func(_ *corev1.PodTemplateSpec, own *corev1.Container) {
			operated.Set(own, alikeEnv(batchv1.JobCompletionIndexAnnotation)...)
			operated.RestartTorch(own)
			// The SDK reads the rendezvous from here. Trainer gives the parts of it only.
			operated.Set(own, corev1.EnvVar{
				Name: "PET_RDZV_ENDPOINT", Value: fmt.Sprintf("%s-%s-0-0.%s:%d", draft.Name, node, draft.Name, rendezvousPort),
			})
		})
	if err != nil {
		return nil, err
	}
	draft.Companion = map[string]any{
		"mlPolicy": map[string]any{"numNodes": int64(workers.count), "torch": map[string]any{}},
		"template": map[string]any{"spec": map[string]any{"replicatedJobs": []any{map[string]any{
			"name": node,
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{trainerGroup + "/trainjob-ancestor-step": "trainer"}},
				// Trainer sets how many pods there are itself; Kueue counts these.
				"spec": map[string]any{
					"backoffLimit": int64(0), "template": pod, "parallelism": int64(workers.count), "completions": int64(workers.count),
				},
			},
		}}}},
	}
	spec := map[string]any{
		"runtimeRef": map[string]any{"apiGroup": trainerGroup, "kind": "TrainingRuntime", "name": draft.Name},
		"trainer": map[string]any{
			"numNodes": int64(workers.count), "numProcPerNode": int64(max(elastic.GetNprocPerNode(), 1)),
		},
	}
	if limit := task.GetRunPolicy().GetActiveDeadlineSeconds(); limit > 0 {
		spec["activeDeadlineSeconds"] = int64(limit)
	}
	return spec, nil
}

// readTrainJob says what the conditions of a TrainJob mean.
func readTrainJob(object *unstructured.Unstructured) operated.Reading {
	if operated.Condition(object, "Complete") != nil {
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	}
	if failed := operated.Condition(object, "Failed"); failed != nil {
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_FAILED, Reason: failed.Reason, Message: failed.Message, ByUser: failed.Reason == "DeadlineExceeded"}
	}
	return operated.Reading{Suspended: operated.Condition(object, "Suspended") != nil || operated.Suspended(object, "suspend")}
}
