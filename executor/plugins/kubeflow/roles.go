package kubeflow

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins/kubeflow"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// replicas are the pods of one role, as the three frameworks declare them.
type replicas struct {
	name     string // of the operator
	role     string
	count    int32
	image    string
	resource *core.Resources
	restart  plugins.RestartPolicy
	common   *plugins.CommonReplicaSpec // newer clients; it takes precedence
	command  []string                   // in place of the task's; nil keeps it
	alike    bool                       // its pods run the same program, and the first one writes the outputs
	follows  bool                       // a pod of another role writes the outputs
}

// alikeEnv tells the SDK which of several pods that run the same program it is in: the one with the rank 0 writes outputs and error
// document, and the others end with an exit code. Without it, each would write both, over those of the others.
func alikeEnv(indexLabel string) []corev1.EnvVar {
	return []corev1.EnvVar{
		followEnv(),
		{Name: "RANK", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + indexLabel + "']"}}},
	}
}

// followEnv tells the SDK that a process is one of several: it ends with an exit code when the task fails, so that the operator sees it.
func followEnv() corev1.EnvVar { return corev1.EnvVar{Name: "FLYTE_CLUSTERED_WORKER", Value: "1"} }

// declared is what the messages of the frameworks have in common.
type declared interface {
	GetReplicas() int32
	GetImage() string
	GetResources() *core.Resources
	GetRestartPolicy() plugins.RestartPolicy
	GetCommon() *plugins.CommonReplicaSpec
}

// replicasOf reads a role. The message may be nil.
func replicasOf(name, role string, from declared) replicas {
	result := replicas{
		name: name, role: role, count: from.GetReplicas(), image: from.GetImage(), resource: from.GetResources(),
		restart: from.GetRestartPolicy(), common: from.GetCommon(),
	}
	if common := result.common; common != nil {
		result.count, result.restart = common.GetReplicas(), common.GetRestartPolicy()
		if common.GetImage() != "" {
			result.image = common.GetImage()
		}
		if common.GetResources() != nil {
			result.resource = common.GetResources()
		}
	}
	return result
}

// specs returns the replica specs of those roles that have pods.
func specs(ctx context.Context, draft *operated.Draft, roles ...replicas) (map[string]any, error) {
	result := map[string]any{}
	for _, role := range roles {
		if role.count < 0 {
			return nil, operated.Bad("%s: replicas must not be negative, got %d", role.role, role.count)
		}
		if role.count == 0 {
			continue
		}
		pod, err := draft.Pods(ctx, draft.Role(role.role, podspec.Different{
			Image: role.image, Resources: role.resource, OwnFiles: role.follows,
		}),
			func(template *corev1.PodTemplateSpec, own *corev1.Container) {
				template.Spec.RestartPolicy = "" // the operator sets it
				if role.alike {
					operated.Set(own, alikeEnv(indexLabel)...)
					operated.RestartTorch(own)
				}
				if role.follows {
					operated.Set(own, followEnv())
				}
				if role.command != nil {
					own.Command, own.Args = role.command, nil
				}
			})
		if err != nil {
			return nil, err
		}
		result[role.name] = map[string]any{"replicas": int64(role.count), "restartPolicy": restartPolicy(role.restart), "template": pod}
	}
	return result, nil
}

func restartPolicy(declared plugins.RestartPolicy) string {
	switch declared {
	case plugins.RestartPolicy_RESTART_POLICY_ALWAYS:
		return "Always"
	case plugins.RestartPolicy_RESTART_POLICY_ON_FAILURE:
		return "OnFailure"
	default:
		return "Never"
	}
}

// runPolicy returns the policy of a job. Its time to live and its choice of pods to delete are not used: the executor deletes the
// job and its pods when their logs are kept and the end is recorded. Restarts belong to the operator only where the task asks for
// them.
func runPolicy(wanted *kubeflow.RunPolicy) map[string]any {
	policy := map[string]any{"cleanPodPolicy": "None"}
	if limit := wanted.GetActiveDeadlineSeconds(); limit > 0 {
		policy["activeDeadlineSeconds"] = int64(limit)
	}
	if limit := wanted.GetBackoffLimit(); limit > 0 {
		policy["backoffLimit"] = int64(limit)
	}
	return policy
}
