package operated_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/executor/plugins/dask"
	"github.com/flyte-binary/flyte-binary/executor/plugins/jobset"
	"github.com/flyte-binary/flyte-binary/executor/plugins/kubeflow"
	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray"
	"github.com/flyte-binary/flyte-binary/executor/plugins/spark"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// task is a template with the custom part that the released packages send.
func task(t *testing.T, taskType string, version int32, custom string) *core.TaskTemplate {
	t.Helper()
	template := plugintest.ContainerTask(func(c *core.Container) {
		c.Args = []string{"a0", "--inputs", "{{.input}}", "--resolver-args", "it's"}
		c.Env = []*core.KeyValuePair{{Key: "OWN", Value: "1"}}
		c.Resources = &core.Resources{Limits: []*core.Resources_ResourceEntry{
			{Name: core.Resources_CPU, Value: "1500m"}, {Name: core.Resources_MEMORY, Value: "1Gi"},
		}}
	})
	template.Type, template.TaskTypeVersion = taskType, version
	template.Custom = &structpb.Struct{}
	require.NoError(t, protojson.Unmarshal([]byte(custom), template.Custom))
	return template
}

// reusable gives a task the policy of an environment that keeps its cluster.
func reusable(task *core.TaskTemplate) *core.TaskTemplate {
	task.ReusePolicy = &core.ReusePolicy{MinReplicas: 1, MaxReplicas: 1, Concurrency: 1, IdleTtl: durationpb.New(time.Minute)}
	return task
}

// TestContract runs the suite of all plugins with the real definitions of the operators' kinds. The API server refuses
// what their schemas do not allow, and fields that they do not know.
func TestContract(t *testing.T) {
	type define func(podspec.Config, operated.Config) plugin.Definition
	const elastic = `{"workerReplicas": {"replicas": 2}, "runPolicy": {"cleanPodPolicy": "CLEANPOD_POLICY_ALL", "activeDeadlineSeconds": 60},
		"elasticConfig": {"rdzvBackend": "c10d", "minReplicas": 1, "maxReplicas": 2, "nprocPerNode": 2, "maxRestarts": 3}}`
	for name, tc := range map[string]struct {
		define   define
		crd      string
		template *core.TaskTemplate
	}{
		"jobset": {jobset.Definition, "jobset.x-k8s.io_jobsets.yaml", task(t, "clustered-task", 1,
			`{"replicas": 2, "nprocPerNode": 1, "failurePolicy": {"maxRestarts": 1, "restartOnHostMaintenance": true}}`)},
		"dask": {dask.Definition, "kubernetes.dask.org_daskjobs.yaml", task(t, "dask", 0,
			`{"scheduler": {"image": "other"}, "workers": {"numberOfWorkers": 3, "resources": {"limits": [{"name": "CPU", "value": "2"}]}}}`)},
		"pytorch":  {kubeflow.PyTorch, "kubeflow.org_pytorchjobs.yaml", task(t, "pytorch", 1, elastic)},
		"trainjob": {kubeflow.TrainJob, "trainer.kubeflow.org_trainjobs.yaml", task(t, "pytorch", 1, elastic)},
		"mpi": {kubeflow.MPI, "kubeflow.org_mpijobs.yaml", task(t, "mpi", 1,
			`{"workerReplicas": {"common": {"replicas": 2, "image": "other"}, "command": ["sleep", "1"]}, "slots": 2}`)},
		"tensorflow": {kubeflow.TensorFlow, "kubeflow.org_tfjobs.yaml", task(t, "tensorflow", 1,
			`{"workerReplicas": {"replicas": 2, "restartPolicy": "RESTART_POLICY_ON_FAILURE"}, "chiefReplicas": {"replicas": 1}}`)},
		"ray": {ray.Definition, "ray.io_rayjobs.yaml", task(t, "ray", 0, `{"rayCluster": {
			"headGroupSpec": {"rayStartParams": {"num-cpus": "0"}, "k8sPod": {"primaryContainerName": "ray-head", "podSpec": {"containers": [
				{"name": "ray-head", "resources": {"limits": {"cpu": "1"}}}]}}},
			"workerGroupSpec": [{"groupName": "w", "replicas": 2, "maxReplicas": 4}],
			"enableAutoscaling": true, "autoscalerOptions": {"idleTimeoutSeconds": 5, "upscalingMode": "UPSCALING_MODE_DEFAULT"}},
			"runtimeEnvYaml": "pip: [x]", "shutdownAfterJobFinishes": true}`)},
		"ray, shared": {ray.Definition, "ray.io_rayjobs.yaml", reusable(task(t, "ray", 0, `{"rayCluster": {"workerGroupSpec": [{"groupName": "w", "replicas": 1}]}}`))},
		"spark": {spark.Definition, "sparkoperator.k8s.io_sparkapplications.yaml", task(t, "spark", 0,
			`{"sparkConf": {"spark.executor.instances": "2"}, "mainApplicationFile": "local:///runtime.py", "executorPath": "/usr/bin/python3"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := kubetest.New(t)
			kubetest.Install(t, cluster, tc.crd)
			if name == "ray, shared" {
				kubetest.Install(t, cluster, "ray.io_rayclusters.yaml")
			}
			if name == "trainjob" {
				kubetest.Install(t, cluster, "trainer.kubeflow.org_trainingruntimes.yaml")
			}
			plugintest.Contract(t, tc.define(podspec.DefaultConfig(), operated.DefaultConfig()), tc.template)
		})
	}
}
