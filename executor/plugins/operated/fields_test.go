package operated_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugins/dask"
	"github.com/flyte-binary/flyte-binary/executor/plugins/kubeflow"
	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/executor/plugins/spark"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// created keeps the objects of one attempt. TestContract asks a real API server whether it takes them.
type created struct {
	client.Reader
	client.Writer
	objects map[string]*unstructured.Unstructured // by kind
}

func (c *created) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := into.GetObjectKind().GroupVersionKind().Kind
	if c.objects[kind] == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, key.Name)
	}
	c.objects[kind].DeepCopyInto(into.(*unstructured.Unstructured))
	return nil
}

func (c *created) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (c *created) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	object.SetUID(types.UID(object.GetName()))
	c.objects[object.GetObjectKind().GroupVersionKind().Kind] = object.DeepCopyObject().(*unstructured.Unstructured)
	return nil
}

// field is a field of a kind of object, by a path such as TrainJob.spec.trainer.numNodes. Elements of lists have numbers.
func (c *created) field(path string) string {
	kind, rest, _ := strings.Cut(path, ".")
	if c.objects[kind] == nil {
		return "no " + kind
	}
	var at any = c.objects[kind].Object
	for _, name := range strings.Split(rest, ".") {
		switch inside := at.(type) {
		case map[string]any:
			at = inside[strings.ReplaceAll(name, "~", ".")] // names may have dots themselves
		case []any:
			number, err := strconv.Atoi(name)
			if err != nil || number >= len(inside) {
				return "nothing"
			}
			at = inside[number]
		default:
			return "nothing"
		}
	}
	if at == nil {
		return "nothing"
	}
	return fmt.Sprint(at)
}

// launched is what a plugin creates for a task, and the state of the attempt.
func launched(t *testing.T, define func(podspec.Config, operated.Config) plugin.Definition, template *core.TaskTemplate) (*created, plugin.State) {
	t.Helper()
	cluster := &created{objects: map[string]*unstructured.Unstructured{}}
	made, err := define(podspec.DefaultConfig(), operated.DefaultConfig()).New(plugin.Deps{
		Cache: cluster, Live: cluster, Writer: cluster, Store: &plugintest.Blobs{}, Clock: clock.NewFake(plugintest.Now()),
	})
	require.NoError(t, err)
	state, err := made.Advance(t.Context(), plugintest.AttemptOf(template))
	require.NoError(t, err)
	return cluster, state
}

const resources = `{"limits": [{"name": "CPU", "value": "3"}]}`

// TestWhatAPluginReadsOfATask: each field that a released client sends is where its operator reads it.
func TestWhatAPluginReadsOfATask(t *testing.T) {
	const (
		runtimes = "TrainingRuntime.spec.template.spec.replicatedJobs.0.template.spec."
		trainer  = runtimes + "template.spec.containers.0."
		torch    = "PyTorchJob.spec.pytorchReplicaSpecs."
		main     = ".template.spec.containers.0."
	)
	for name, tc := range map[string]struct {
		define   func(podspec.Config, operated.Config) plugin.Definition
		template *core.TaskTemplate
		want     map[string]string
	}{
		"trainjob": {kubeflow.TrainJob, task(t, "pytorch", 1, `{"workerReplicas": {"replicas": 3, "image": "w", "resources": `+resources+`},
			"runPolicy": {"activeDeadlineSeconds": 60}, "elasticConfig": {"nprocPerNode": 2, "minReplicas": 1, "maxReplicas": 3}}`), map[string]string{
			runtimes + "parallelism": "3", runtimes + "completions": "3", runtimes + "backoffLimit": "0",
			trainer + "name": "node", trainer + "image": "w", trainer + "resources.limits.cpu": "3",
			"TrainingRuntime.spec.mlPolicy.numNodes": "3", "TrainingRuntime.metadata.name": "r1-a0-0123abcd-0",
			"TrainJob.spec.trainer.numNodes": "3", "TrainJob.spec.trainer.numProcPerNode": "2", "TrainJob.spec.activeDeadlineSeconds": "60",
			"TrainJob.spec.runtimeRef.name": "r1-a0-0123abcd-0", "TrainJob.spec.runtimeRef.kind": "TrainingRuntime",
			"TrainJob.companion": "nothing", "TrainingRuntime.companion": "nothing",
		}},
		"trainjob of an older client": {kubeflow.TrainJob, task(t, "pytorch", 0, `{"workers": 2, "elasticConfig": {"nprocPerNode": 4}}`), map[string]string{
			runtimes + "parallelism": "2", "TrainJob.spec.trainer.numNodes": "2", "TrainJob.spec.trainer.numProcPerNode": "4",
			"TrainJob.spec.activeDeadlineSeconds": "nothing", trainer + "resources.limits.cpu": "1500m",
		}},
		"pytorch with a master": {kubeflow.PyTorch, task(t, "pytorch", 1, `{"workerReplicas": {"common": {"replicas": 2, "image": "w",
			"restartPolicy": "RESTART_POLICY_ON_FAILURE"}}, "masterReplicas": {"image": "m", "replicas": 5, "resources": `+resources+`},
			"runPolicy": {"activeDeadlineSeconds": 60, "backoffLimit": 4, "cleanPodPolicy": "CLEANPOD_POLICY_ALL"}}`), map[string]string{
			torch + "Worker.replicas": "2", torch + "Worker" + main + "image": "w", torch + "Worker.restartPolicy": "OnFailure",
			torch + "Master.replicas": "1", torch + "Master" + main + "image": "m", torch + "Master" + main + "resources.limits.cpu": "3",
			torch + "Master.restartPolicy": "Never", "PyTorchJob.spec.elasticPolicy": "nothing",
			"PyTorchJob.spec.runPolicy.activeDeadlineSeconds": "60", "PyTorchJob.spec.runPolicy.backoffLimit": "4",
			"PyTorchJob.spec.runPolicy.cleanPodPolicy": "None",
		}},
		"pytorch, elastic": {kubeflow.PyTorch, task(t, "pytorch", 1, `{"workerReplicas": {"replicas": 2},
			"elasticConfig": {"rdzvBackend": "c10d", "minReplicas": 1, "maxReplicas": 2, "nprocPerNode": 4, "maxRestarts": 3}}`), map[string]string{
			"PyTorchJob.spec.elasticPolicy.rdzvBackend": "c10d", "PyTorchJob.spec.elasticPolicy.minReplicas": "1",
			"PyTorchJob.spec.elasticPolicy.maxReplicas": "2", "PyTorchJob.spec.elasticPolicy.nProcPerNode": "4",
			"PyTorchJob.spec.elasticPolicy.maxRestarts": "3", torch + "Master": "nothing",
		}},
		"mpi": {kubeflow.MPI, task(t, "mpi", 1, `{"workerReplicas": {"common": {"replicas": 2}, "command": ["sleep", "1"]},
			"launcherReplicas": {"replicas": 7, "image": "l"}, "slots": 4}`), map[string]string{
			"MPIJob.spec.slotsPerWorker": "4", "MPIJob.spec.mpiReplicaSpecs.Launcher.replicas": "1",
			"MPIJob.spec.mpiReplicaSpecs.Launcher" + main + "image": "l", "MPIJob.spec.mpiReplicaSpecs.Worker.replicas": "2",
			"MPIJob.spec.mpiReplicaSpecs.Worker" + main + "command": "[sleep 1]",
		}},
		"mpi of an older client": {kubeflow.MPI, task(t, "mpi", 0, `{"numWorkers": 3, "numLauncherReplicas": 1, "slots": 2}`), map[string]string{
			"MPIJob.spec.mpiReplicaSpecs.Worker.replicas": "3", "MPIJob.spec.slotsPerWorker": "2",
		}},
		"tensorflow": {kubeflow.TensorFlow, task(t, "tensorflow", 1, `{"workerReplicas": {"replicas": 2, "restartPolicy": "RESTART_POLICY_ALWAYS"},
			"chiefReplicas": {"replicas": 1, "image": "c"}, "psReplicas": {"replicas": 3, "resources": `+resources+`}, "evaluatorReplicas": {"replicas": 1}}`),
			map[string]string{
				"TFJob.spec.tfReplicaSpecs.Worker.replicas": "2", "TFJob.spec.tfReplicaSpecs.Worker.restartPolicy": "Always",
				"TFJob.spec.tfReplicaSpecs.Chief" + main + "image": "c", "TFJob.spec.tfReplicaSpecs.PS.replicas": "3",
				"TFJob.spec.tfReplicaSpecs.PS" + main + "resources.limits.cpu": "3", "TFJob.spec.tfReplicaSpecs.Evaluator.replicas": "1",
			}},
		"tensorflow of an older client": {kubeflow.TensorFlow, task(t, "tensorflow", 0, `{"workers": 2, "psReplicas": 1, "chiefReplicas": 1}`), map[string]string{
			"TFJob.spec.tfReplicaSpecs.Worker.replicas": "2", "TFJob.spec.tfReplicaSpecs.PS.replicas": "1",
			"TFJob.spec.tfReplicaSpecs.Chief.replicas": "1", "TFJob.spec.tfReplicaSpecs.Evaluator": "nothing",
		}},
		"dask": {dask.Definition, task(t, "dask", 0, `{"scheduler": {"image": "s"}, "workers": {"numberOfWorkers": 3, "image": "w", "resources": `+resources+`}}`),
			map[string]string{
				"DaskJob.spec.job.spec.containers.0.args.0":                   "a0",
				"DaskJob.spec.cluster.spec.scheduler.spec.containers.0.image": "s", "DaskJob.spec.cluster.spec.worker.replicas": "3",
				"DaskJob.spec.cluster.spec.scheduler.service.ports.0.port": "8786",
				"DaskJob.spec.cluster.spec.worker.spec.containers.0.image": "w",
				"DaskJob.spec.cluster.spec.worker.spec.containers.0.args":  "[dask worker --name $(DASK_WORKER_NAME) --nthreads 3 --memory-limit 1073741824]",
			}},
		"dask without workers": {dask.Definition, task(t, "dask", 0, `{}`), map[string]string{
			"DaskJob.spec.cluster.spec.worker.replicas":               "1", // the least that computes
			"DaskJob.spec.cluster.spec.worker.spec.containers.0.args": "[dask worker --name $(DASK_WORKER_NAME) --nthreads 2 --memory-limit 1073741824]",
		}},
		"spark": {spark.Definition, task(t, "spark", 0, `{"mainApplicationFile": "local:///r.py", "mainClass": "M", "applicationType": "SCALA",
			"executorPath": "/py", "sparkConf": {"spark.executor.instances": "2"}, "hadoopConf": {"h": "v"}}`), map[string]string{
			"SparkApplication.spec.mainApplicationFile": "local:///r.py", "SparkApplication.spec.mainClass": "M", "SparkApplication.spec.type": "Scala",
			"SparkApplication.spec.sparkConf.spark~executor~instances": "2", "SparkApplication.spec.sparkConf.spark~pyspark~python": "/py",
			"SparkApplication.spec.hadoopConf.h": "v", "SparkApplication.spec.arguments.0": "a0", "SparkApplication.spec.restartPolicy.type": "Never",
			"SparkApplication.spec.driver.template.spec.containers.0.name":   "spark-kubernetes-driver",
			"SparkApplication.spec.executor.template.spec.containers.0.name": "spark-kubernetes-executor",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, state := launched(t, tc.define, tc.template)
			require.Nil(t, state.Failure)
			got := map[string]string{}
			for path := range tc.want {
				got[path] = cluster.field(path)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// TestWhatCannotBeRunIsNamed: nothing is created, and the error has the name of the field.
func TestWhatCannotBeRunIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		define   func(podspec.Config, operated.Config) plugin.Definition
		template *core.TaskTemplate
		words    string
	}{
		"a TrainJob with a master":     {kubeflow.TrainJob, task(t, "pytorch", 1, `{"workerReplicas": {"replicas": 2}}`), "elastic_config: is required"},
		"a TrainJob without workers":   {kubeflow.TrainJob, task(t, "pytorch", 1, `{"elasticConfig": {}}`), "worker_replicas: want at least 1, got 0"},
		"a PyTorchJob without workers": {kubeflow.PyTorch, task(t, "pytorch", 1, `{"workerReplicas": {"replicas": -1}}`), "worker_replicas: want at least 1, got -1"},
		"an MPIJob without workers":    {kubeflow.MPI, task(t, "mpi", 1, `{}`), "worker_replicas: want at least 1, got 0"},
		"a TFJob without workers":      {kubeflow.TensorFlow, task(t, "tensorflow", 1, `{"chiefReplicas": {"replicas": 1}}`), "worker_replicas: want at least 1"},
		"fewer servers than none": {kubeflow.TensorFlow, task(t, "tensorflow", 1, `{"workerReplicas": {"replicas": 1}, "psReplicas": {"replicas": -2}}`),
			"ps: replicas must not be negative, got -2"},
		"no program for Spark":   {spark.Definition, task(t, "spark", 0, `{}`), "mainApplicationFile: is required"},
		"another message at all": {dask.Definition, task(t, "dask", 0, `{"workers": "two"}`), `custom of task type "dask"`},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, state := launched(t, tc.define, tc.template)
			require.NotNil(t, state.Failure)
			require.Equal(t, failure.BadTaskSpecification, state.Failure.Reason)
			require.Contains(t, state.Failure.Message, tc.words)
			require.Empty(t, cluster.objects)
		})
	}
}

// TestWhatTheConditionsOfATrainJobMean uses the words of Kubeflow Trainer v2.2.0.
func TestWhatTheConditionsOfATrainJobMean(t *testing.T) {
	const elastic = `{"workerReplicas": {"replicas": 2}, "elasticConfig": {}}`
	for name, tc := range map[string]struct {
		kind, reason string
		failed       failure.Reason
		users        bool
		says         string
	}{
		"its time is over":       {"Failed", "DeadlineExceeded", failure.GangFailed, true, "DeadlineExceeded: m"},
		"the operator gave up":   {"Failed", "TrainJobFailed", failure.OperatorFailed, false, "TrainJobFailed: m"},
		"all workers have ended": {"Complete", "JobsCompleted", "", false, ""},
		"a queue has no room":    {"Suspended", "Suspended", "", false, "TrainJob is suspended until its queue admits it"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, _ := launched(t, kubeflow.TrainJob, task(t, "pytorch", 1, elastic))
			require.NoError(t, unstructured.SetNestedSlice(cluster.objects["TrainJob"].Object, []any{
				map[string]any{"type": tc.kind, "status": "True", "reason": tc.reason, "message": "m"},
			}, "status", "conditions"))
			made, err := kubeflow.TrainJob(podspec.DefaultConfig(), operated.DefaultConfig()).New(plugin.Deps{
				Cache: cluster, Live: cluster, Writer: cluster, Store: &plugintest.Blobs{}, Clock: clock.NewFake(plugintest.Now()),
			})
			require.NoError(t, err)
			state, err := made.Advance(t.Context(), plugintest.AttemptOf(task(t, "pytorch", 1, elastic)))
			require.NoError(t, err)
			if tc.failed == "" {
				require.Nil(t, state.Failure)
				require.Equal(t, tc.says, state.Message)
				return
			}
			require.NotNil(t, state.Failure)
			require.Equal(t, tc.failed, state.Failure.Reason)
			require.Equal(t, tc.users, state.Failure.IsUsers())
			require.Contains(t, state.Failure.Message, tc.says)
		})
	}
}
