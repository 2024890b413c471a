package executor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/pods/logs"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

func (h *harness) tail(request *enginev1.TailContainerRequest) ([]*dataplane.LogLine, error) {
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{Log: zerolog.Nop()}))
	h.service.Mount(mux)
	client := enginev1connect.NewPodLogServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	stream, err := client.TailContainer(context.Background(), request)
	require.NoError(h.t, err)
	defer func() { require.NoError(h.t, stream.Close()) }()
	var lines []*dataplane.LogLine
	for stream.Receive() {
		lines = append(lines, stream.Msg().GetLines()...)
	}
	return lines, stream.Err()
}

func TestTailContainer(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "2026-01-02T03:04:05.%09dZ line %d\n", i, i)
	}
	text.WriteString("2026-01-02T03:04:06Z \xff\n2026-01-02T03:04:07Z without end")
	stay := make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{
		Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
			<-stay
			return succeeds(ctx, pod)
		},
		Log: func(string, string) string { return text.String() },
	})
	action, _ := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	pod := h.pods()[0].Name
	lines, err := h.tail(&enginev1.TailContainerRequest{Namespace: h.Namespace, Pod: pod, Container: "primary", Follow: true})
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err), "the container runs: its log broke off")
	require.Len(t, lines, 1002)
	require.Equal(t, "line 7", lines[7].GetMessage())
	require.Equal(t, int32(7), lines[7].GetTimestamp().GetNanos())
	require.Equal(t, "\uFFFD", lines[1000].GetMessage())
	require.Equal(t, "without end", lines[1001].GetMessage())
	close(stay)
	h.record.awaitPhase(t, action, 1, state.Succeeded)
}

func TestTailEndsWithTheContainer(t *testing.T) {
	stay := make(chan struct{})
	end := sync.OnceFunc(func() { close(stay) })
	h := newHarness(t, kubetest.NodeOptions{
		Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
			<-stay
			return succeeds(ctx, pod)
		},
		Log: func(string, string) string {
			end() // The status shows the end only after the log was sent.
			return "2026-01-02T03:04:05Z line\n"
		},
	})
	action, _ := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	lines, err := h.tail(&enginev1.TailContainerRequest{Namespace: h.Namespace, Pod: h.pods()[0].Name, Container: "primary", Follow: true})
	require.NoError(t, err)
	require.Len(t, lines, 1)
}

func TestTailAnswersNotFound(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{})
	_, err := h.tail(&enginev1.TailContainerRequest{Namespace: h.Namespace, Pod: "nobody"})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))

	_, err = h.Clientset.CoreV1().Pods(h.Namespace).Create(context.Background(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = h.tail(&enginev1.TailContainerRequest{Namespace: h.Namespace, Pod: "theirs"})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "pods of others cannot be read")
}

func TestLogOfAContainerThatHasNotStartedIsEmpty(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{SkipBinding: true, SkipRunning: true, Program: func(context.Context, *corev1.Pod) kubetest.Result {
		return kubetest.Result{Leave: true}
	}})
	h.submit(taskTemplate())
	pod := h.awaitPods(1)[0].Name
	lines, err := h.tail(&enginev1.TailContainerRequest{Namespace: h.Namespace, Pod: pod})
	require.NoError(t, err)
	require.Empty(t, lines)
}

// Story R10: logs disappeared with the pod, although they had been promised for every attempt.
func TestLogsOfEveryAttemptAreKept(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{
		Program: func(context.Context, *corev1.Pod) kubetest.Result { return kubetest.Result{ExitCode: 1} },
		Log:     func(pod, _ string) string { return "2026-01-02T03:04:05Z I am " + pod + "\n" },
	})
	action, task := h.submit(taskTemplate(withRetries(1)))
	h.record.awaitPhase(t, action, 2, state.Failed)
	h.awaitGone(task)
	for attempt := range uint32(2) {
		log := blobpath.SealedLog(blobpath.AttemptDir(task.Spec.RunOutputBase, "a0", attempt+1), "", "primary")
		require.Eventually(t, func() bool {
			body, err := os.ReadFile(log)
			return err == nil && string(body) == fmt.Sprintf("2026-01-02T03:04:05Z I am %s-%d\n", task.Name, attempt)
		}, waitLimit, 5*time.Millisecond, log)
	}
}

func TestSealingAPodThatIsGoneIsNoError(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{})
	sealer := logs.NewSealer(logs.DefaultConfig(), h.Clientset.CoreV1(), h.store)
	uri := filepath.Join(h.root, "some.log")
	require.NoError(t, sealer.Seal(context.Background(), plugin.Log{Namespace: h.Namespace, Pod: "gone", Container: "c"}, uri))
	_, err := os.Stat(uri)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Story R10: logs disappeared with the pod, although they had been promised for every attempt.
func TestLogOfAnAbortedActionIsKept(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{
		Program: func(ctx context.Context, _ *corev1.Pod) kubetest.Result {
			<-ctx.Done()
			return kubetest.Result{Leave: true}
		},
		Log:       func(string, string) string { return "2026-01-02T03:04:05Z so far\n" },
		StopDelay: 300 * time.Millisecond,
	})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	require.NoError(t, h.Client.Delete(context.Background(), task))
	h.awaitGone(task)
	body, err := os.ReadFile(blobpath.SealedLog(blobpath.AttemptDir(task.Spec.RunOutputBase, "a0", 1), "", "primary"))
	require.NoError(t, err)
	require.Equal(t, "2026-01-02T03:04:05Z so far\n", string(body))
}

func TestLogOfAPodThatSomebodyDeletedIsKept(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{
		Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
			if !strings.HasSuffix(pod.Name, "-0") {
				return succeeds(ctx, pod)
			}
			return untilDeleted(ctx, pod)
		},
		Log:       func(pod, _ string) string { return "2026-01-02T03:04:05Z I am " + pod + "\n" },
		StopDelay: 300 * time.Millisecond,
	})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	require.NoError(t, h.Clientset.CoreV1().Pods(h.Namespace).Delete(t.Context(), v1.PodName(task.Name, 1), metav1.DeleteOptions{}))
	h.record.awaitPhase(t, action, 2, state.Succeeded)
	h.awaitGone(task)
	for attempt := range uint32(2) {
		body, err := os.ReadFile(blobpath.SealedLog(blobpath.AttemptDir(task.Spec.RunOutputBase, "a0", attempt+1), "", "primary"))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("2026-01-02T03:04:05Z I am %s-%d\n", task.Name, attempt), string(body))
	}
}
