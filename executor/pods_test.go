package executor_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/executor"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// seen collects the pods that the node ran.
type seen struct {
	mu   sync.Mutex
	pods []*corev1.Pod // GUARDED_BY(mu)
}

func (s *seen) add(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pods = append(s.pods, pod.DeepCopy())
}

func (s *seen) all() []*corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pods
}

func basePod(from string) *corev1.PodTemplate {
	return &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "base"},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"from": from}},
			Spec: corev1.PodSpec{
				NodeSelector: map[string]string{"pool": "tasks"},
				Tolerations:  []corev1.Toleration{{Key: "tasks", Operator: corev1.TolerationOpExists}},
				Volumes:      []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				Containers: []corev1.Container{
					{Name: "default", Image: "placeholder", VolumeMounts: []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}},
					{Name: "primary", Image: "placeholder", Env: []corev1.EnvVar{{Name: "FROM_TEMPLATE", Value: from}}},
				},
			},
		},
	}
}

// The API server accepts pods that combine a template, devices, shared memory and settings.
func TestPodsFromTemplatesOfTheCluster(t *testing.T) {
	elsewhere := kubetest.New(t)
	var ran seen
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		ran.add(pod)
		return succeeds(ctx, pod)
	}}, func(c *executor.Config) {
		c.Pod.PodTemplateNamespace = elsewhere.Namespace
		c.Pod.Accelerators = []podspec.Accelerator{{Device: "nvidia-l4", NodeLabels: []string{"gpu.example.com/kind=l4"}}}
	})
	_, err := h.Clientset.CoreV1().PodTemplates(elsewhere.Namespace).Create(t.Context(), basePod("elsewhere"), metav1.CreateOptions{})
	require.NoError(t, err)
	template := taskTemplate(func(t *core.TaskTemplate) {
		t.Metadata = &core.TaskMetadata{PodTemplateName: "base"}
		t.GetContainer().Resources = &core.Resources{Requests: []*core.Resources_ResourceEntry{{Name: core.Resources_GPU, Value: "1"}}}
		t.ExtendedResources = &core.ExtendedResources{SharedMemory: &core.SharedMemory{MountName: "flyte-shm", MountPath: "/dev/shm", SizeLimit: "256Mi"}}
	})
	withSettings := func(a *enginev1.Assignment) {
		a.RunSpec = &task.RunSpec{
			Labels: &task.Labels{Values: map[string]string{"team": "ml"}},
			DefaultSettings: &task.DefaultSettings{TaskResourceDefaults: &task.TaskResourceDefaults{
				Requests:           []*core.Resources_ResourceEntry{{Name: core.Resources_CPU, Value: "250m"}},
				Max:                []*core.Resources_ResourceEntry{{Name: core.Resources_MEMORY, Value: "2Gi"}},
				DefaultAccelerator: &core.GPUAccelerator{Device: "nvidia-l4"},
			}},
		}
	}
	action, task := h.submit(template, withSettings)
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitGone(task)
	made := ran.all()[0]
	require.Equal(t, "elsewhere", made.Labels["from"])
	require.Equal(t, "ml", made.Labels["team"])
	require.Equal(t, map[string]string{"pool": "tasks", "gpu.example.com/kind": "l4"}, made.Spec.NodeSelector)
	require.Len(t, made.Spec.Containers, 1)
	primary := made.Spec.Containers[0]
	require.Equal(t, "250m", primary.Resources.Requests.Cpu().String())
	require.Contains(t, primary.Env, corev1.EnvVar{Name: "FROM_TEMPLATE", Value: "elsewhere"})
	require.Len(t, primary.VolumeMounts, 2)

	_, err = h.Clientset.CoreV1().PodTemplates(h.Namespace).Create(t.Context(), basePod("here"), metav1.CreateOptions{})
	require.NoError(t, err)
	action, task = h.submit(template, withSettings)
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitGone(task)
	require.Equal(t, "here", ran.all()[1].Labels["from"], "the one in the pod's namespace wins")
}

func TestAMissingPodTemplateFailsWithAnExplanation(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds})
	action, _ := h.submit(taskTemplate(func(t *core.TaskTemplate) { t.Metadata = &core.TaskMetadata{PodTemplateName: "nope"} }))
	h.record.awaitPhase(t, action, 1, state.Failed)
	lost := h.record.last(action).GetError()
	require.Equal(t, "BadTaskSpecification", lost.GetCode())
	require.Contains(t, lost.GetMessage(), `no pod template "nope"`)
	require.Zero(t, h.node.Started())
}

// A checkpoint survives failures of the system and of the task, and attempts that save none.
func TestCheckpointsPassFromAttemptToAttempt(t *testing.T) {
	told := make(chan string, 8)
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		args := pod.Spec.Containers[0].Args
		told <- args[len(args)-1]
		switch pod.Labels["flyte.org/attempt"] {
		case "1": // It saves and is killed.
			if os.MkdirAll(filepath.Dir(args[len(args)-2]), 0o750) != nil || os.WriteFile(args[len(args)-2], []byte("step 1"), 0o600) != nil {
				return kubetest.Result{ExitCode: 99}
			}
			return kubetest.Result{ExitCode: 137}
		case "2":
			return kubetest.Result{ExitCode: 1}
		default:
			return succeeds(ctx, pod)
		}
	}})
	action, task := h.submit(taskTemplate(withRetries(1), func(t *core.TaskTemplate) {
		t.GetContainer().Args = append(t.GetContainer().Args, "{{.checkpointOutputPrefix}}", "{{.prevCheckpointPrefix}}")
	}))
	h.record.awaitPhase(t, action, 3, state.Succeeded)
	first := blobpath.Checkpoints(blobpath.AttemptDir(task.Spec.RunOutputBase, "a0", 1))
	require.Empty(t, <-told)
	require.Equal(t, first, <-told)
	require.Equal(t, first, <-told, "the second attempt saved nothing")
}

func TestAfterPreemptionsAnActionRunsOnSteadyNodes(t *testing.T) {
	var ran seen
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		ran.add(pod)
		if pod.Labels["flyte.org/attempt"] < "3" {
			return kubetest.Result{ExitCode: 137}
		}
		return succeeds(ctx, pod)
	}}, func(c *executor.Config) { c.Pod.InterruptibleNodeSelector = map[string]string{"pool": "spot"} })
	action, _ := h.submit(taskTemplate(func(t *core.TaskTemplate) {
		t.Metadata = &core.TaskMetadata{InterruptibleValue: &core.TaskMetadata_Interruptible{Interruptible: true}}
	}))
	h.record.awaitPhase(t, action, 3, state.Succeeded)
	var pools []string
	for _, pod := range ran.all() {
		pools = append(pools, pod.Spec.NodeSelector["pool"])
	}
	require.Equal(t, []string{"spot", "spot", ""}, pools)
}
