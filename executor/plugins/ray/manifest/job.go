package manifest

import (
	"context"
	"encoding/base64"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// keptAfterEnd is how long KubeRay keeps the cluster of a job that has ended while no executor reads its pods and deletes it.
const keptAfterEnd = time.Hour

// Job returns the specification of a RayJob with a cluster of its own.
func Job(ctx context.Context, draft *operated.Draft, wanted *plugins.RayJob) (map[string]any, error) {
	env, err := runtimeEnv(wanted)
	if err != nil {
		return nil, err
	}
	cluster, err := Cluster(ctx, draft.Template, draft.Pods, wanted.GetRayCluster())
	if err != nil {
		return nil, err
	}
	entrypoint := ""
	submits, err := draft.Pods(ctx, draft.Role(Submitter, podspec.Different{}), func(_ *corev1.PodTemplateSpec, own *corev1.Container) {
		entrypoint = command(append(append([]string{}, own.Command...), own.Args...))
		own.Command, own.Args = nil, nil // KubeRay sets them
		own.Resources = submitterResources()
	})
	if err != nil {
		return nil, err
	}
	result := jobSpec(entrypoint, submits)
	result["rayClusterSpec"] = cluster
	// The executor deletes the job, and its cluster with it, after it has read the pods and their logs. KubeRay and Kueue suspend only jobs
	// whose cluster ends by itself.
	result["shutdownAfterJobFinishes"], result["ttlSecondsAfterFinished"] = true, int64(keptAfterEnd/time.Second)
	if env != "" {
		result["runtimeEnvYAML"] = env
	}
	return result, nil
}

// jobSpec is what the RayJobs of all attempts have.
func jobSpec(entrypoint string, submits map[string]any) map[string]any {
	return map[string]any{
		"entrypoint": entrypoint, "submissionMode": "K8sJobMode", "backoffLimit": int64(0), "submitterPodTemplate": submits,
	}
}

func submitterResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("200Mi")},
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi")},
	}
}

// runtimeEnv is the environment of the job. Older clients send JSON in base64 only, which is YAML too.
func runtimeEnv(wanted *plugins.RayJob) (string, error) {
	if wanted.GetRuntimeEnvYaml() != "" {
		return wanted.GetRuntimeEnvYaml(), nil
	}
	decoded, err := base64.StdEncoding.DecodeString(wanted.GetRuntimeEnv()) //nolint:staticcheck // deprecated, and all that older clients send
	if err != nil {
		return "", operated.Bad("runtime_env: want JSON in base64: %v", err)
	}
	return string(decoded), nil
}
