package node_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLogsThroughTheAPI(t *testing.T) {
	b := setup(t)
	pod := b.run(t, b.shell("for i in 1 2 3; do echo line $i; done; echo err >&2; printf end"))
	require.ElementsMatch(t, []string{"line 1", "line 2", "line 3", "err", "end"},
		strings.FieldsFunc(b.logs(t, pod, &corev1.PodLogOptions{}), func(r rune) bool { return r == '\n' }))
	for _, line := range strings.Split(strings.TrimSpace(b.logs(t, pod, &corev1.PodLogOptions{Timestamps: true, TailLines: ptr(int64(3))})), "\n") {
		stamp, _, _ := strings.Cut(line, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), at, time.Minute)
	}
	require.Equal(t, 2, strings.Count(b.logs(t, pod, &corev1.PodLogOptions{TailLines: ptr(int64(2))}), "\n"))
	require.Len(t, b.logs(t, pod, &corev1.PodLogOptions{LimitBytes: ptr(int64(9))}), 9)
	later := metav1.NewTime(time.Now().Add(time.Hour))
	require.Empty(t, b.logs(t, pod, &corev1.PodLogOptions{SinceTime: &later}))
}

func TestFollowingALog(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.running(t, b.create(t, b.shell("echo one; while [ ! -e "+dir+"/go ]; do sleep 0.01; done; echo two; sleep 0.1; printf three")))
	stream, err := b.client.CoreV1().Pods(b.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	lines := bufio.NewReader(stream)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "one\n", line, "before the container has ended")
	touch(t, dir+"/go")
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, "two\nthree\n", string(rest), "the stream ends with the container, complete")
}

func TestLogsOfManyContainersAndRuns(t *testing.T) {
	b := setup(t)
	pod := b.create(t, b.shell("echo main; sleep 100", func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "test", Command: []string{"echo", "init"}}}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "broken", Image: "test", Command: []string{"sh", "-c", "echo broken; exit 1"}})
	}))
	b.until(t, pod, "restarted", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 2 && p.Status.ContainerStatuses[1].RestartCount > 0
	})
	require.Eventually(t, func() bool { // it has started, and may not have written yet
		return b.logs(t, pod, &corev1.PodLogOptions{Container: "main"}) == "main\n"
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, "init\n", b.logs(t, pod, &corev1.PodLogOptions{Container: "init"}))
	require.Equal(t, "broken\n", b.logs(t, pod, &corev1.PodLogOptions{Container: "broken", Previous: true}))
}

func TestLogOfAContainerThatNeverStarted(t *testing.T) {
	b := setup(t)
	pod := b.run(t, b.shell("", func(p *corev1.Pod) { p.Spec.Containers[0].Command = []string{"no-such-command"} }))
	_, err := b.client.CoreV1().Pods(b.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).Stream(t.Context())
	require.ErrorContains(t, err, "could not be started")
}

// Other users of the machine can reach the port, and learn nothing from it.
func TestLogsNeedACertificate(t *testing.T) {
	b := setup(t)
	pod := b.run(t, b.shell("echo private"))
	nodes, err := b.client.CoreV1().Nodes().Get(t.Context(), b.cfg.Name, metav1.GetOptions{})
	require.NoError(t, err)
	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	_, err = client.Get(fmt.Sprintf("https://127.0.0.1:%d/containerLogs/%s/%s/main",
		nodes.Status.DaemonEndpoints.KubeletEndpoint.Port, pod.Namespace, pod.Name))
	require.ErrorContains(t, err, "certificate required")
	require.Equal(t, "private\n", b.logs(t, pod, &corev1.PodLogOptions{}), "the API server has one")
}
