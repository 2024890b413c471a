package dask

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/plugins"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

const (
	commPort      = 8786
	dashboardPort = 8787
)

// spec returns the specification of the DaskJob.
func spec(ctx context.Context, draft *operated.Draft) (map[string]any, error) {
	wanted := &plugins.DaskJob{}
	if err := draft.Custom(wanted); err != nil {
		return nil, err
	}
	runnerPod, err := draft.Pods(ctx, draft.Role(runner, podspec.Different{}), nil)
	if err != nil {
		return nil, err
	}
	schedulerPod, err := draft.Pods(ctx, draft.Role(scheduler, podspec.Different{
		Image: wanted.GetScheduler().GetImage(), Resources: wanted.GetScheduler().GetResources(), NoProgram: true,
	}), schedules)
	if err != nil {
		return nil, err
	}
	workerPod, err := draft.Pods(ctx, draft.Role(worker, podspec.Different{
		Image: wanted.GetWorkers().GetImage(), Resources: wanted.GetWorkers().GetResources(), NoProgram: true,
	}), works)
	if err != nil {
		return nil, err
	}
	workers := max(wanted.GetWorkers().GetNumberOfWorkers(), 1)
	schedulerPod["service"] = map[string]any{
		"type": string(corev1.ServiceTypeClusterIP),
		"selector": map[string]any{
			"dask.org/cluster-name": draft.Name, "dask.org/component": "scheduler", podspec.LabelRole: scheduler,
		},
		"ports": []any{port("tcp-comm", commPort), port("http-dashboard", dashboardPort)},
	}
	workerPod["replicas"] = int64(workers)
	return map[string]any{
		"job":     runnerPod,
		"cluster": map[string]any{"spec": map[string]any{"scheduler": schedulerPod, "worker": workerPod}},
	}, nil
}

func port(name string, number int64) map[string]any {
	return map[string]any{"name": name, "protocol": "TCP", "port": number, "targetPort": name}
}

// schedules completes the pod of the scheduler. It belongs to a Deployment, which restarts it.
func schedules(template *corev1.PodTemplateSpec, own *corev1.Container) {
	template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	own.Args = []string{"dask", "scheduler"}
	own.Ports = []corev1.ContainerPort{{Name: "tcp-comm", ContainerPort: commPort}, {Name: "http-dashboard", ContainerPort: dashboardPort}}
}

// works completes the pods of workers. The operator sets DASK_WORKER_NAME and the address of the scheduler.
func works(template *corev1.PodTemplateSpec, own *corev1.Container) {
	template.Spec.RestartPolicy = corev1.RestartPolicyAlways
	own.Args = []string{"dask", "worker", "--name", "$(DASK_WORKER_NAME)"}
	limits := own.Resources.Limits
	if cpu := limits.Cpu(); !cpu.IsZero() {
		// Parts of a processor still need a thread.
		own.Args = append(own.Args, "--nthreads", operated.Number(cpu))
	}
	if memory := limits.Memory(); !memory.IsZero() {
		own.Args = append(own.Args, "--memory-limit", operated.Number(memory))
	}
}
