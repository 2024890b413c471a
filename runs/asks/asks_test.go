package asks_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

func entry(name core.Resources_ResourceName, value string) *core.Resources_ResourceEntry {
	return &core.Resources_ResourceEntry{Name: name, Value: value}
}

func container(taskType string, custom map[string]any, requests ...*core.Resources_ResourceEntry) *core.TaskTemplate {
	encoded, err := structpb.NewStruct(custom)
	if err != nil {
		panic(err)
	}
	return &core.TaskTemplate{Type: taskType, Custom: encoded, Target: &core.TaskTemplate_Container{Container: &core.Container{Resources: &core.Resources{Requests: requests}}}}
}

func TestOfAContainer(t *testing.T) {
	template := container("python", nil, entry(core.Resources_CPU, "1500m"), entry(core.Resources_MEMORY, "2Gi"), entry(core.Resources_GPU, "2"), entry(core.Resources_STORAGE, "no quantity"))
	template.GetContainer().Resources.Limits = []*core.Resources_ResourceEntry{entry(core.Resources_CPU, "4"), entry(core.Resources_EPHEMERAL_STORAGE, "1G")}
	template.ExtendedResources = &core.ExtendedResources{GpuAccelerator: &core.GPUAccelerator{Device: "nvidia-l4"}}
	want := placement.Amounts{placement.CPU: 1500, placement.Memory: 2 << 30, placement.Storage: 1e9, "nvidia.com/gpu": 2}
	run := &task.RunSpec{ClusterPool: "gpu", Labels: &task.Labels{Values: map[string]string{"a": "b"}}}
	require.Equal(t, placement.Request{
		Pool: "gpu", Labels: map[string]string{"a": "b"}, Resources: want, Pod: want, Accelerator: "nvidia-l4",
	}, (&asks.Rules{CPU: "1", Memory: "1Gi"}).Of(template, run), "a container runs everywhere, so its type is not asked for; limits count where nothing is requested")
}

func TestOfATaskThatAsksForNothing(t *testing.T) {
	rules := &asks.Rules{CPU: "500m", Memory: "1Gi", Device: func(*core.GPUAccelerator) string { return "amd.com/gpu" }}
	want := placement.Amounts{placement.CPU: 500, placement.Memory: 1 << 30}
	require.Equal(t, want, rules.Of(container("python", nil), nil).Resources)
	require.Equal(t, int64(1), rules.Of(container("python", nil, entry(core.Resources_GPU, "1")), nil).Resources["amd.com/gpu"])
}

func TestOfAPod(t *testing.T) {
	spec, err := structpb.NewStruct(map[string]any{"containers": []any{
		map[string]any{"resources": map[string]any{"requests": map[string]any{"cpu": "1", "memory": "1Gi"}, "limits": map[string]any{"cpu": 8, "nvidia.com/gpu": 1}}},
		map[string]any{"resources": map[string]any{"requests": map[string]any{"cpu": 0.5}}},
		map[string]any{},
	}})
	require.NoError(t, err)
	template := &core.TaskTemplate{Type: "python", Target: &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{PodSpec: spec}}}
	require.Equal(t, placement.Amounts{placement.CPU: 1500, placement.Memory: 1 << 30, "nvidia.com/gpu": 1}, (&asks.Rules{}).Of(template, nil).Resources)
}

func TestOfJobs(t *testing.T) {
	resources := func(cpu string) map[string]any {
		return map[string]any{"requests": []any{map[string]any{"name": "CPU", "value": cpu}}}
	}
	for name, test := range map[string]struct {
		kind   string
		custom map[string]any
		cores  int64
	}{
		"jobset":              {"clustered-task", map[string]any{"replicas": 4}, 4},
		"dask":                {"dask", map[string]any{"scheduler": map[string]any{"resources": resources("2")}, "workers": map[string]any{"numberOfWorkers": 3, "resources": resources("4")}}, 15},
		"ray":                 {"ray", map[string]any{"rayCluster": map[string]any{"workerGroupSpec": []any{map[string]any{"replicas": 2}, map[string]any{"min_replicas": 3}}}}, 6},
		"ray, of its own pod": {"ray", map[string]any{"ray_cluster": map[string]any{"head_group_spec": map[string]any{"k8sPod": map[string]any{"podSpec": map[string]any{"containers": []any{map[string]any{"resources": map[string]any{"requests": map[string]any{"cpu": "5"}}}}}}}}}, 5},
		"spark":               {"spark", map[string]any{"sparkConf": map[string]any{"spark.executor.instances": "3", "spark.executor.cores": "2"}}, 7},
		"pytorch, flat":       {"pytorch", map[string]any{"workers": 3}, 4},
		"pytorch, elastic":    {"pytorch", map[string]any{"workerReplicas": map[string]any{"common": map[string]any{"replicas": 3}}, "elasticConfig": map[string]any{"minReplicas": 3}}, 3},
		"mpi":                 {"mpi", map[string]any{"num_workers": 2}, 3},
		"tensorflow":          {"tensorflow", map[string]any{"worker_replicas": map[string]any{"common": map[string]any{"replicas": 2, "resources": resources("3")}}, "psReplicas": map[string]any{"replicas": 1}}, 7},
		"an unknown type":     {"other", map[string]any{"replicas": 9}, 1},
		"nonsense":            {"ray", map[string]any{"rayCluster": "x"}, 1},
		"more than can be":    {"clustered-task", map[string]any{"replicas": 1e300}, 1_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			got := (&asks.Rules{}).Of(container(test.kind, test.custom, entry(core.Resources_CPU, "1")), nil)
			require.Equal(t, test.cores*1000, got.Resources[placement.CPU])
			require.Equal(t, int64(1000), got.Pod[placement.CPU])
			require.Equal(t, test.kind, got.Type)
		})
	}
}
