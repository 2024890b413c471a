package executor_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

func withCopilot(c *executor.Config) {
	c.Pod.Copilot.Image = "registry.example/flyte-binary:v1"
	c.Pod.Copilot.Storage = podspec.CopilotStorage{URL: "s3://bucket/prefix"}
	c.Pod.EnvFromSecrets = []string{"object-store"}
}

// rawContainer is a task as the SDK declares one, with everything that shapes its pod.
func rawContainer(t *core.TaskTemplate) {
	t.Type = "raw-container"
	t.Interface.Inputs = &core.VariableMap{Variables: t.Interface.GetOutputs().GetVariables()}
	t.Target = &core.TaskTemplate_Container{Container: &core.Container{
		Image: "alpine:3.20", Args: []string{"/bin/sh", "-ec", "cp /var/inputs/o0 /var/outputs/o0"},
		Resources:  &core.Resources{Requests: []*core.Resources_ResourceEntry{{Name: core.Resources_EPHEMERAL_STORAGE, Value: "2Gi"}}},
		DataConfig: &core.DataLoadingConfig{Enabled: true, InputPath: "/var/inputs", OutputPath: "/var/outputs"},
	}}
}

// helper is an init container of a pod.
func helper(pod *corev1.Pod, name string) *corev1.Container {
	for i := range pod.Spec.InitContainers {
		if pod.Spec.InitContainers[i].Name == name {
			return &pod.Spec.InitContainers[i]
		}
	}
	return nil
}

// leaves writes a document where the co-pilot of a pod would.
func leaves(pod *corev1.Pod, name string, message proto.Message) {
	for _, arg := range pod.Spec.InitContainers[0].Args {
		if dir, found := strings.CutPrefix(arg, "--attempt="); found {
			body, err := proto.Marshal(message)
			if err == nil {
				err = os.MkdirAll(dir, 0o755)
			}
			if err == nil {
				err = os.WriteFile(dir+"/"+name, body, 0o644)
			}
			if err != nil {
				panic(err)
			}
		}
	}
}

func complains(pod *corev1.Pod, message string, origin core.ExecutionError_ErrorKind) {
	leaves(pod, blobpath.ErrorFile, &core.ErrorDocument{Error: &core.ContainerError{
		Code: "OutputMissing", Message: message, Kind: core.ContainerError_RECOVERABLE, Origin: origin,
	}})
}

// status writes the status of a raw container's pod, as a kubelet does.
func (h *harness) status(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, uploader, downloader, primary corev1.ContainerState) {
	err := kubetest.PatchPodStatus(ctx, h.Clientset, pod, corev1.PodStatus{
		Phase: phase,
		InitContainerStatuses: []corev1.ContainerStatus{
			{Name: "flyte-copilot-uploader", State: uploader}, {Name: "flyte-copilot-downloader", State: downloader},
		},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "primary", State: primary}},
	})
	if err != nil && ctx.Err() == nil {
		panic(err)
	}
}

func runs() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
}

func ends(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: metav1.Now(), FinishedAt: metav1.Now()}}
}

func waits() corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
}

func TestPodOfARawContainerIsAcceptedByTheCluster(t *testing.T) {
	seen := make(chan *corev1.Pod, 1)
	var h *harness
	h = newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		h.status(ctx, pod, corev1.PodRunning, runs(), ends(0), ends(0))
		seen <- pod
		<-ctx.Done() // the test writes the rest
		return kubetest.Result{Leave: true}
	}}, withCopilot)
	action, task1 := h.submit(taskTemplate(rawContainer))
	made := <-seen
	uploader := helper(made, "flyte-copilot-uploader")
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *uploader.RestartPolicy, "the API server keeps native sidecars")
	require.Equal(t, uploader.Name, made.Spec.InitContainers[0].Name)
	require.EqualValues(t, 3660, *made.Spec.TerminationGracePeriodSeconds)
	require.Equal(t, "2Gi", made.Spec.Volumes[0].EmptyDir.SizeLimit.String())
	for _, container := range append(made.Spec.InitContainers, made.Spec.Containers...) {
		for _, variable := range container.Env {
			require.NotContains(t, variable.Name, "SECRET")
		}
	}
	h.record.awaitPhase(t, action, 1, state.Running)

	leaves(made, blobpath.OutputsFile, &task.Outputs{})
	h.status(t.Context(), made, corev1.PodSucceeded, ends(0), ends(0), ends(0))
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitGone(task1)
}

// Story R3: a raw container that exited with an error never failed its action; its pod was recreated forever.
func TestNonZeroExitOfARawContainerFailsTheAction(t *testing.T) {
	var h *harness
	h = newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		complains(pod, "the output is missing", core.ExecutionError_USER) // the sidecar may be as fast as we are
		h.status(ctx, pod, corev1.PodRunning, runs(), ends(0), ends(3))
		<-ctx.Done()
		return kubetest.Result{Leave: true}
	}}, withCopilot)
	action, task := h.submit(taskTemplate(rawContainer, withRetries(1)))
	h.record.awaitPhase(t, action, 2, state.Failed)
	h.awaitGone(task)
	failed := h.record.last(action).GetError()
	require.Equal(t, "ContainerFailed", failed.GetCode())
	require.Contains(t, failed.GetMessage(), "exit code 3")
	require.Equal(t, core.ExecutionError_USER, failed.GetKind())
	require.Equal(t, 2, h.node.Started(), "one attempt and the task's one retry")
}

func TestCopilotErrorsCountWhenTheContainerSucceeded(t *testing.T) {
	var h *harness
	h = newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		complains(pod, "the output is missing", core.ExecutionError_USER)
		h.status(ctx, pod, corev1.PodSucceeded, ends(1), ends(0), ends(0))
		return kubetest.Result{Leave: true}
	}}, withCopilot)
	action, task := h.submit(taskTemplate(rawContainer))
	h.record.awaitPhase(t, action, 1, state.Failed)
	h.awaitGone(task)
	failed := h.record.last(action).GetError()
	require.Equal(t, "OutputMissing", failed.GetCode())
	require.Equal(t, "the output is missing", failed.GetMessage())
}

func TestDownloadThatFailsIsTheSystemsFaultUnlessItSaysOtherwise(t *testing.T) {
	var explains atomic.Bool
	var h *harness
	program := func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		if explains.Load() {
			leaves(pod, blobpath.ErrorFile, &core.ErrorDocument{Error: &core.ContainerError{Code: "InputUnavailable", Message: "it is gone"}})
		}
		h.status(ctx, pod, corev1.PodFailed, ends(143), ends(1), waits())
		return kubetest.Result{Leave: true}
	}
	h = newHarness(t, kubetest.NodeOptions{Program: program}, withCopilot)
	action, task := h.submit(taskTemplate(rawContainer))
	h.record.awaitPhase(t, action, 4, state.Failed)
	h.awaitGone(task)
	failed := h.record.last(action).GetError()
	require.Equal(t, core.ExecutionError_SYSTEM, failed.GetKind())
	require.Contains(t, failed.GetMessage(), "flyte-copilot-downloader")

	explains.Store(true)
	action, task = h.submit(taskTemplate(rawContainer, withRetries(5)))
	h.record.awaitPhase(t, action, 1, state.Failed)
	h.awaitGone(task)
	require.Equal(t, "InputUnavailable", h.record.last(action).GetError().GetCode())
	require.Equal(t, core.ExecutionError_USER, h.record.last(action).GetError().GetKind())
}

func TestStoppedRawContainerDoesNotKeepItsLongGrace(t *testing.T) {
	grace := make(chan int64, 1)
	var h *harness
	h = newHarness(t, kubetest.NodeOptions{StopDelay: 300 * time.Millisecond, Program: func(ctx context.Context, made *corev1.Pod) kubetest.Result {
		h.status(ctx, made, corev1.PodRunning, runs(), ends(0), runs())
		<-ctx.Done()
		pod, err := h.Clientset.CoreV1().Pods(made.Namespace).Get(context.Background(), made.Name, metav1.GetOptions{})
		if err == nil && pod.DeletionGracePeriodSeconds != nil {
			grace <- *pod.DeletionGracePeriodSeconds
		}
		return kubetest.Result{Leave: true}
	}}, withCopilot)
	action, task := h.submit(taskTemplate(rawContainer))
	h.record.awaitPhase(t, action, 1, state.Running)
	require.NoError(t, h.Client.Delete(t.Context(), task)) // as its owner does on an abort
	require.EqualValues(t, 30, <-grace)
	h.awaitGone(task)
}
