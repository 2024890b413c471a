package jobset

import (
	"context"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

const (
	// group is the name of the one group of pods. The launcher derives the host name of the first pod from it.
	group = "workers"
	// masterPort is the port on which the processes find each other.
	masterPort = 29500
	// maxReplicas fits the digits that maxName leaves room for.
	maxReplicas = 99_999
	// restartLabel is the label in which the controller counts the restarts of the whole JobSet.
	restartLabel = "jobset.sigs.k8s.io/restart-attempt"
)

// spec returns the specification of the JobSet: one indexed Job with a pod for each replica.
func spec(ctx context.Context, draft *operated.Draft) (map[string]any, error) {
	wanted := &plugins.ClusteredTaskSpec{}
	if err := draft.Custom(wanted); err != nil {
		return nil, err
	}
	if err := check(wanted); err != nil {
		return nil, err
	}
	replicas, maintenance := wanted.GetReplicas(), wanted.GetFailurePolicy().GetRestartOnHostMaintenance()
	template, err := draft.Pods(ctx, podspec.Role{}, func(_ *corev1.PodTemplateSpec, own *corev1.Container) {
		operated.Set(own, env(draft.Name, wanted)...)
		if wanted.GetRuntime().GetTorchrun().GetRdzvBackend() == plugins.RdzvBackend_C10D {
			operated.RestartTorch(own)
		}
	})
	if err != nil {
		return nil, err
	}
	job := map[string]any{
		"parallelism": int64(replicas), "completions": int64(replicas), "completionMode": string(batchv1.IndexedCompletion),
		"backoffLimit": int64(0), // restarts belong to the JobSet
		"template":     template,
	}
	failurePolicy := map[string]any{"maxRestarts": int64(wanted.GetFailurePolicy().GetMaxRestarts())}
	if maintenance {
		// A pod that its node evicts fails its Job for this reason, which the rule of the JobSet refers to.
		job["podFailurePolicy"] = map[string]any{"rules": []any{map[string]any{
			"action":          string(batchv1.PodFailurePolicyActionFailJob),
			"onPodConditions": []any{map[string]any{"type": string(corev1.DisruptionTarget), "status": string(corev1.ConditionTrue)}},
		}}}
		failurePolicy["rules"] = []any{map[string]any{
			"name": "maintenance", "action": "RestartJobSetAndIgnoreMaxRestarts",
			"onJobFailureReasons": []any{batchv1.JobReasonPodFailurePolicy},
		}}
	}
	return map[string]any{
		"network":       map[string]any{"enableDNSHostnames": true, "subdomain": draft.Name, "publishNotReadyAddresses": true},
		"successPolicy": map[string]any{"operator": "All", "targetReplicatedJobs": []any{group}},
		"failurePolicy": failurePolicy,
		"replicatedJobs": []any{map[string]any{
			"name": group, "replicas": int64(1), "template": map[string]any{"spec": job},
		}},
	}, nil
}

func check(wanted *plugins.ClusteredTaskSpec) error {
	switch {
	case wanted.GetReplicas() < 1 || wanted.GetReplicas() > maxReplicas:
		return operated.Bad("replicas: want 1 to %d, got %d", maxReplicas, wanted.GetReplicas())
	case wanted.GetNprocPerNode() < 1:
		return operated.Bad("nproc_per_node: want at least 1, got %d", wanted.GetNprocPerNode())
	case wanted.GetRuntime().GetTorchrun().GetMaxRestarts() < 0:
		return operated.Bad("runtime.torchrun.max_restarts: must not be negative, got %d", wanted.GetRuntime().GetTorchrun().GetMaxRestarts())
	case wanted.GetFailurePolicy().GetMaxRestarts() < 0:
		return operated.Bad("failure_policy.max_restarts: must not be negative, got %d", wanted.GetFailurePolicy().GetMaxRestarts())
	}
	return nil
}

// env is what the SDK's launcher `clustered` reads. JOB_COMPLETION_INDEX comes from the Job controller.
func env(name string, wanted *plugins.ClusteredTaskSpec) []corev1.EnvVar {
	backend := "static"
	if wanted.GetRuntime().GetTorchrun().GetRdzvBackend() == plugins.RdzvBackend_C10D {
		backend = "c10d"
	}
	number := func(value int32) string { return strconv.Itoa(int(value)) }
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	variables := []corev1.EnvVar{
		{Name: "JOBSET_NAME", Value: name},
		{Name: "JOBSET_MAX_RESTARTS", Value: number(wanted.GetFailurePolicy().GetMaxRestarts())},
		{Name: "JOBSET_RESTART_ATTEMPT", ValueFrom: field("metadata.labels['" + restartLabel + "']")},
		{Name: "POD_NAMESPACE", ValueFrom: field("metadata.namespace")},
		{Name: "NNODES", Value: number(wanted.GetReplicas())},
		{Name: "NPROC_PER_NODE", Value: number(wanted.GetNprocPerNode())},
		{Name: "MASTER_PORT", Value: strconv.Itoa(masterPort)},
		{Name: "RDZV_BACKEND", Value: backend},
	}
	if restarts := wanted.GetRuntime().GetTorchrun().GetMaxRestarts(); restarts > 0 { // torchrun reads it itself: the launcher does not
		variables = append(variables, corev1.EnvVar{Name: "PET_MAX_RESTARTS", Value: number(restarts)})
	}
	return variables
}
