package kubeflow_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugins/kubeflow"
	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// cluster is an API server that keeps one job, and its cache.
type cluster struct {
	client.Reader
	client.Writer
	job  *unstructured.Unstructured
	pods []corev1.Pod
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if c.job == nil || c.job.GetName() != key.Name {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "jobs"}, key.Name)
	}
	c.job.DeepCopyInto(into.(*unstructured.Unstructured))
	return nil
}

func (c *cluster) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*corev1.PodList).Items = c.pods
	return nil
}

func (c *cluster) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	c.job = object.(*unstructured.Unstructured)
	c.job.SetUID(types.UID(c.job.GetName()))
	return nil
}

type bench struct {
	cluster
	plugin  plugin.Plugin
	attempt *plugin.Attempt
}

// benchOf creates the job of an attempt.
func benchOf(t *testing.T, define func(podspec.Config, operated.Config) plugin.Definition, kind, custom string) *bench {
	t.Helper()
	template := plugintest.ContainerTask(func(c *core.Container) { c.Args = []string{"a0", "--outputs-path", "{{.outputPrefix}}"} })
	template.Type, template.TaskTypeVersion, template.Custom = kind, 1, &structpb.Struct{}
	require.NoError(t, protojson.Unmarshal([]byte(custom), template.Custom))
	b := &bench{attempt: plugintest.AttemptOf(template)}
	var err error
	b.plugin, err = define(podspec.DefaultConfig(), operated.DefaultConfig()).New(plugin.Deps{
		Cache: &b.cluster, Live: &b.cluster, Writer: &b.cluster, Store: &plugintest.Blobs{}, Clock: clock.NewFake(plugintest.Now()),
	})
	require.NoError(t, err)
	b.advance(t)
	require.NotNil(t, b.job)
	return b
}

func (b *bench) advance(t *testing.T) plugin.State {
	t.Helper()
	state, err := b.plugin.Advance(t.Context(), b.attempt)
	require.NoError(t, err)
	return state
}

// template returns the pods of a role of the job.
func (b *bench) template(t *testing.T, specs, role string) *corev1.PodTemplateSpec {
	t.Helper()
	found, has, err := unstructured.NestedMap(b.job.Object, "spec", specs, role, "template")
	require.NoError(t, err)
	require.True(t, has, role)
	result := &corev1.PodTemplateSpec{}
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(found, result))
	return result
}

// fails gives the job a failed pod of a role, as the operator creates it, and lets the operator give up.
func (b *bench) fails(t *testing.T, specs, role, name, index string) plugin.State {
	t.Helper()
	template := b.template(t, specs, role)
	pod := corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.Name, pod.Namespace, pod.UID = name, b.attempt.Task.Namespace, types.UID(name)
	pod.Labels["training.kubeflow.org/replica-index"] = index
	pod.Spec.RestartPolicy, pod.Spec.NodeName, pod.Status.Phase = corev1.RestartPolicyNever, "n", corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: template.Spec.Containers[0].Name, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1},
	}}}
	b.pods = []corev1.Pod{pod}
	b.gaveUp(t, 1)
	return b.advance(t)
}

// gaveUp is the status of a job that failed with this number of failed pods.
func (b *bench) gaveUp(t *testing.T, failed int64) {
	t.Helper()
	require.NoError(t, unstructured.SetNestedMap(b.job.Object, map[string]any{
		"replicaStatuses": map[string]any{"Worker": map[string]any{"failed": failed}},
		"conditions":      []any{map[string]any{"type": "Failed", "status": "True", "reason": "JobFailed", "message": "m"}},
	}, "status"))
}

// variables are those of a pod's program; one that comes from the pod has the path of the field.
func variables(pod *corev1.PodTemplateSpec) map[string]string {
	result := map[string]string{}
	for _, v := range pod.Spec.Containers[0].Env {
		result[v.Name] = v.Value
		if v.ValueFrom != nil {
			result[v.Name] = v.ValueFrom.FieldRef.FieldPath
		}
	}
	return result
}

const index = "metadata.labels['training.kubeflow.org/replica-index']"

// TestEachMemberHasItsErrorDocument: pods of the role that returns the outputs write where the SDK lets the first one write only; those of
// other roles have a directory of their own.
func TestEachMemberHasItsErrorDocument(t *testing.T) {
	const chief = `{"workerReplicas": {"replicas": 2}, "chiefReplicas": {"replicas": 1}, "psReplicas": {"replicas": 1}}`
	for name, tc := range map[string]struct {
		define       func(podspec.Config, operated.Config) plugin.Definition
		kind, custom string
		specs, role  string
		own, ranked  bool
		noDocument   bool // where the pod with the index 1 fails
	}{
		"the chief":                {kubeflow.TensorFlow, "tensorflow", chief, "tfReplicaSpecs", "Chief", false, false, true},
		"workers of a chief":       {kubeflow.TensorFlow, "tensorflow", chief, "tfReplicaSpecs", "Worker", true, false, false},
		"parameter servers":        {kubeflow.TensorFlow, "tensorflow", chief, "tfReplicaSpecs", "PS", true, false, false},
		"workers without a chief":  {kubeflow.TensorFlow, "tensorflow", `{"workerReplicas": {"replicas": 2}}`, "tfReplicaSpecs", "Worker", false, true, true},
		"workers of a master":      {kubeflow.PyTorch, "pytorch", `{"workerReplicas": {"replicas": 2}}`, "pytorchReplicaSpecs", "Worker", true, false, false},
		"the master":               {kubeflow.PyTorch, "pytorch", `{"workerReplicas": {"replicas": 2}}`, "pytorchReplicaSpecs", "Master", false, false, true},
		"workers of an elastic":    {kubeflow.PyTorch, "pytorch", `{"workerReplicas": {"replicas": 2}, "elasticConfig": {"maxReplicas": 2}}`, "pytorchReplicaSpecs", "Worker", false, true, true},
		"workers of an MPI launch": {kubeflow.MPI, "mpi", `{"workerReplicas": {"replicas": 2}}`, "mpiReplicaSpecs", "Worker", true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := benchOf(t, tc.define, tc.kind, tc.custom)
			pod := b.template(t, tc.specs, tc.role)
			env, wants := variables(pod), b.attempt.Dir
			if tc.own {
				wants = blobpath.Member(b.attempt.Dir, "$(FLYTE_MEMBER)")
				require.Equal(t, "metadata.name", env["FLYTE_MEMBER"])
			}
			require.Equal(t, []string{"a0", "--outputs-path", wants}, pod.Spec.Containers[0].Args)
			require.Equal(t, tc.ranked, env["RANK"] == index)
			require.Equal(t, tc.own || tc.ranked, env["FLYTE_CLUSTERED_WORKER"] == "1", "a failure is an exit code, which the operator sees")

			state := b.fails(t, tc.specs, tc.role, "j-1", "1")
			require.Equal(t, failure.ContainerFailed, state.Failure.Reason)
			require.Equal(t, tc.noDocument, state.NoDocument)
			if tc.own {
				require.Equal(t, blobpath.Member(b.attempt.Dir, "j-1"), state.ErrorDir)
			} else {
				require.Empty(t, state.ErrorDir)
			}
			if !tc.own {
				state = b.fails(t, tc.specs, tc.role, "j-0", "0")
				require.False(t, state.NoDocument, "the first one writes where the outputs are")
			}
		})
	}
}

// TestAJobOfTensorFlowNeedsAllItsWorkers: the operator's own default ends the job with its first worker.
func TestAJobOfTensorFlowNeedsAllItsWorkers(t *testing.T) {
	b := benchOf(t, kubeflow.TensorFlow, "tensorflow", `{"workerReplicas": {"replicas": 2}}`)
	policy, _, _ := unstructured.NestedString(b.job.Object, "spec", "successPolicy")
	require.Equal(t, "AllWorkers", policy)
}

// TestWhoPaysForAJobWithoutAFailedPod: the pod that failed was deleted by the system, unless the job exceeded a limit of the task.
func TestWhoPaysForAJobWithoutAFailedPod(t *testing.T) {
	b := benchOf(t, kubeflow.PyTorch, "pytorch", `{"workerReplicas": {"replicas": 2}}`)
	b.gaveUp(t, 1)
	require.Equal(t, failure.DeletedExternally, b.advance(t).Failure.Reason)
	require.False(t, b.advance(t).Failure.IsUsers())
	b.gaveUp(t, 0)
	require.Equal(t, failure.GangFailed, b.advance(t).Failure.Reason)
	require.True(t, b.advance(t).Failure.IsUsers())
}
