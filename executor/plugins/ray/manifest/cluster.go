package manifest

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// PodMaker returns the template of the pods of a role, after change has completed it.
type PodMaker func(ctx context.Context, role podspec.Role, change func(*corev1.PodTemplateSpec, *corev1.Container)) (map[string]any, error)

// Cluster returns the specification of a RayCluster, for a RayJob of its own or for a RayCluster that attempts share.
func Cluster(ctx context.Context, task *core.TaskTemplate, pods PodMaker, wanted *plugins.RayCluster) (map[string]any, error) {
	headPod, err := pods(ctx, podspec.RoleOf(task, Head, podspec.Different{
		Pod: wanted.GetHeadGroupSpec().GetK8SPod(), Container: "ray-head", Extended: wanted.GetHeadGroupSpec().GetExtendedResources(), NoProgram: true,
	}), func(_ *corev1.PodTemplateSpec, own *corev1.Container) {
		own.Ports = append(own.Ports, []corev1.ContainerPort{
			{Name: "gcs-server", ContainerPort: 6379}, {Name: "dashboard", ContainerPort: 8265}, {Name: "client", ContainerPort: 10001},
		}...)
		node(own)
	})
	if err != nil {
		return nil, err
	}
	var groups []any
	for i, group := range wanted.GetWorkerGroupSpec() {
		one, err := groupOf(ctx, task, pods, group)
		if err != nil {
			return nil, err
		}
		if group.GetGroupName() == "" {
			return nil, operated.Bad("worker_group_spec[%d].group_name: is required", i)
		}
		groups = append(groups, one)
	}
	result := map[string]any{
		"headGroupSpec": map[string]any{
			"serviceType": string(corev1.ServiceTypeClusterIP), "template": headPod,
			"rayStartParams": params(wanted.GetHeadGroupSpec().GetRayStartParams(), map[string]string{
				"include-dashboard": "true", "dashboard-host": "0.0.0.0",
			}),
		},
	}
	if len(groups) > 0 {
		result["workerGroupSpecs"] = groups
	}
	if wanted.GetEnableAutoscaling() {
		result["enableInTreeAutoscaling"] = true
		if options := autoscaler(wanted.GetAutoscalerOptions()); len(options) > 0 {
			result["autoscalerOptions"] = options
		}
	}
	return result, nil
}

func groupOf(ctx context.Context, task *core.TaskTemplate, pods PodMaker, group *plugins.WorkerGroupSpec) (map[string]any, error) {
	pod, err := pods(ctx, podspec.RoleOf(task, Worker, podspec.Different{
		Pod: group.GetK8SPod(), Container: "ray-worker", Extended: group.GetExtendedResources(), NoProgram: true,
	}), func(_ *corev1.PodTemplateSpec, own *corev1.Container) { node(own) })
	if err != nil {
		return nil, err
	}
	replicas := max(group.GetReplicas(), group.GetMinReplicas(), 0)
	return map[string]any{
		"groupName": group.GetGroupName(), "template": pod, "rayStartParams": params(group.GetRayStartParams(), nil),
		"replicas": int64(replicas), "minReplicas": int64(min(max(group.GetMinReplicas(), 0), replicas)),
		"maxReplicas": int64(max(group.GetMaxReplicas(), replicas)),
	}, nil
}

// node completes the container of a node of the cluster.
func node(own *corev1.Container) {
	operated.Set(own, corev1.EnvVar{Name: "MY_POD_IP", ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"},
	}})
}

// params are the options of `ray start`; those that the task gives take precedence.
func params(given, defaults map[string]string) map[string]any {
	all := map[string]string{"node-ip-address": "$MY_POD_IP", "disable-usage-stats": "true"}
	maps.Copy(all, defaults)
	maps.Copy(all, given)
	result := map[string]any{}
	for name, value := range all {
		result[name] = value
	}
	return result
}

func autoscaler(wanted *plugins.AutoscalerOptions) map[string]any {
	result := map[string]any{}
	if mode := map[plugins.AutoscalerOptions_UpscalingMode]string{
		plugins.AutoscalerOptions_UPSCALING_MODE_DEFAULT:      "Default",
		plugins.AutoscalerOptions_UPSCALING_MODE_AGGRESSIVE:   "Aggressive",
		plugins.AutoscalerOptions_UPSCALING_MODE_CONSERVATIVE: "Conservative",
	}[wanted.GetUpscalingMode()]; mode != "" {
		result["upscalingMode"] = mode
	}
	if idle := wanted.GetIdleTimeoutSeconds(); idle > 0 {
		result["idleTimeoutSeconds"] = int64(idle)
	}
	if image := wanted.GetImage(); image != "" {
		result["image"] = image
	}
	var env []any
	for _, pair := range wanted.GetEnv() {
		env = append(env, map[string]any{"name": pair.GetKey(), "value": pair.GetValue()})
	}
	if env != nil {
		result["env"] = env
	}
	return result
}
