package node_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/demo/node"
)

func touch(t testing.TB, path string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, nil, 0o600))
}

func TestARestartFindsLivingProcesses(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.create(t, b.shell("echo $$ >"+dir+"/pid; echo before; while [ ! -e "+dir+"/go ]; do sleep 0.01; done; echo after; exit 5"))
	pid := content(t, dir+"/pid")
	b.running(t, pod)
	b.crash(t)
	require.True(t, alive(t, pid))
	b.start(t)
	require.Equal(t, corev1.PodRunning, b.running(t, pod).Status.Phase)
	touch(t, dir+"/go")
	ended := b.ended(t, pod)
	require.Equal(t, int32(5), terminated(ended).ExitCode)
	require.Zero(t, ended.Status.ContainerStatuses[0].RestartCount)
	require.Equal(t, "before\nafter\n", b.logs(t, pod, &corev1.PodLogOptions{}))
}

// TestARestartEndsProcessesThatKnowAnotherServer: the demo was started again with another port.
func TestARestartEndsProcessesThatKnowAnotherServer(t *testing.T) {
	b := setup(t, func(c *node.Config) { c.Endpoint = "localhost:1" })
	dir := t.TempDir()
	waits := func(name, endpoint string) *corev1.Pod {
		t.Helper()
		return b.create(t, b.shell("echo $$ >"+dir+"/"+name+"; while [ ! -e "+dir+"/go ]; do sleep 0.01; done", func(p *corev1.Pod) {
			p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "_U_EP_OVERRIDE", Value: endpoint}}
		}))
	}
	before, after := waits("before", "localhost:1"), waits("after", "localhost:2")
	pid := content(t, dir+"/before")
	b.running(t, before)
	b.running(t, after)
	b.crash(t)
	b.cfg.Endpoint = "localhost:2"
	b.start(t)
	require.Equal(t, "ContainerStatusUnknown", terminated(b.ended(t, before)).Reason)
	require.False(t, alive(t, pid))
	touch(t, dir+"/go")
	require.Equal(t, corev1.PodSucceeded, b.ended(t, after).Status.Phase)
}

func TestARestartDeletesWhatItFinds(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.create(t, b.shell(`trap "" TERM; echo $$ >`+dir+"/pid; while :; do sleep 1; done"))
	pid := content(t, dir+"/pid")
	b.running(t, pod)
	b.crash(t)
	b.start(t)
	b.delete(t, pod, 1)
	b.goneFromAPI(t, pod)
	require.False(t, alive(t, pid))
}

func TestARestartLearnsOfWhatEndedMeanwhile(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.create(t, b.shell("echo $$ >"+dir+"/pid; while [ ! -e "+dir+"/go ]; do sleep 0.01; done; exit 7"))
	pid := content(t, dir+"/pid")
	b.crash(t)
	touch(t, dir+"/go")
	require.Eventually(t, func() bool { return !alive(t, pid) }, 10*time.Second, 5*time.Millisecond)
	b.start(t)
	require.Equal(t, int32(7), terminated(b.ended(t, pod)).ExitCode)
}

func TestARestartContinuesWithTheNextContainer(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.create(t, b.shell("echo main >>"+dir+"/out", func(p *corev1.Pod) {
		script := "echo init >>" + dir + "/out; echo 1 >" + dir + "/ready; while [ ! -e " + dir + "/go ]; do sleep 0.01; done"
		p.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "test", Command: []string{"sh", "-c", script}}}
	}))
	content(t, dir+"/ready")
	b.crash(t)
	b.start(t)
	touch(t, dir+"/go")
	require.Equal(t, corev1.PodSucceeded, b.ended(t, pod).Status.Phase)
	require.Equal(t, "init\nmain", content(t, dir+"/out"))
}

// If a process is killed together with its supervisor, its exit status is unknown.
func TestALostProcessIsNoFaultOfTheTask(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.create(t, b.shell("echo $$ >"+dir+"/pid; sleep 100"))
	pid := content(t, dir+"/pid")
	b.running(t, pod)
	b.crash(t)
	shim, err := strconv.Atoi(parent(t, pid))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(shim, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !alive(t, pid) }, 10*time.Second, 5*time.Millisecond)
	b.start(t)
	ended := b.ended(t, pod)
	require.Equal(t, corev1.PodFailed, ended.Status.Phase)
	require.Equal(t, "NodeLost", ended.Status.Reason)
	require.Equal(t, "ContainerStatusUnknown", terminated(ended).Reason)
}

// Without its data directory the node knows nothing, and says so of every pod that had been started.
func TestALostDataDirectory(t *testing.T) {
	b := setup(t)
	pod := b.running(t, b.create(t, b.shell("sleep 100")))
	old := b.cfg.DataDir
	other, err := os.MkdirTemp("", "n")
	require.NoError(t, err)
	b.crash(t)
	b.cfg.DataDir = other
	b.start(t)
	ended := b.ended(t, pod)
	require.Equal(t, "NodeLost", ended.Status.Reason)
	require.Equal(t, "ContainerStatusUnknown", terminated(ended).Reason)
	b.stop(t)
	require.NoError(t, os.RemoveAll(other))
	b.delete(t, pod, 0)
	b.cfg.DataDir = old
	b.start(t) // ends the orphaned process
	b.orphansEnd(t)
}

// A pod that was removed from the API while no node ran leaves no process behind.
func TestARestartEndsOrphans(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.create(t, b.shell("echo $$ >"+dir+"/pid; sleep 100"))
	pid := content(t, dir+"/pid")
	b.crash(t)
	b.delete(t, pod, 0)
	b.start(t)
	require.Eventually(t, func() bool { return !alive(t, pid) }, 10*time.Second, 5*time.Millisecond)
	b.orphansEnd(t)
}

func (b *bundle) orphansEnd(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		entries, err := os.ReadDir(filepath.Join(b.cfg.DataDir, "pods"))
		return err == nil && len(entries) == 0
	}, 10*time.Second, 5*time.Millisecond)
}

func TestStoppingEndsEveryProcess(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.StopGrace = time.Second })
	dir := t.TempDir()
	polite := b.create(t, b.shell("echo $$ >"+dir+"/polite; exec sleep 100"))
	stubborn := b.create(t, b.shell(`trap "" TERM; echo $$ >`+dir+"/stubborn; while :; do sleep 1; done"))
	done := b.run(t, b.shell("exit 0"))
	pids := []string{content(t, dir+"/polite"), content(t, dir+"/stubborn")}
	b.stop(t)
	for _, pid := range pids {
		require.False(t, alive(t, pid))
	}
	for _, pod := range []*corev1.Pod{polite, stubborn} {
		found, err := b.client.CoreV1().Pods(b.namespace).Get(context.Background(), pod.Name, metav1.GetOptions{})
		require.NoError(t, err)
		require.Equal(t, corev1.PodFailed, found.Status.Phase)
		require.Equal(t, "Terminated", found.Status.Reason)
		require.Equal(t, corev1.PodReasonTerminationByKubelet, condition(found, corev1.DisruptionTarget).Reason)
	}
	found, err := b.client.CoreV1().Pods(b.namespace).Get(context.Background(), done.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, corev1.PodSucceeded, found.Status.Phase)

	b.start(t)
	require.Equal(t, corev1.PodSucceeded, b.run(t, b.shell("exit 0")).Status.Phase)
	require.Empty(t, b.logs(t, done, &corev1.PodLogOptions{}), "logs of earlier pods are still there")
	b.delete(t, done, 0)
	_, err = b.client.CoreV1().Pods(b.namespace).Get(t.Context(), done.Name, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

// parent is the parent of a process.
func parent(t *testing.T, pid string) string {
	t.Helper()
	raw, err := os.ReadFile("/proc/" + pid + "/status")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(raw), "PPid:")
	require.True(t, found)
	return strings.Fields(rest)[0]
}

// A container that stops its supervisor with a signal continues, and its pod says so. One that does nothing else ends by its own fault.
func TestAContainerThatStopsItsSupervisor(t *testing.T) {
	b := setup(t)
	once := b.run(t, b.shell("kill -STOP $PPID; exit 3"))
	require.Equal(t, int32(3), terminated(once).ExitCode)
	require.Contains(t, b.event(t, once, "SupervisorStopped"), "1 times")
	always := b.run(t, b.shell(`(while :; do kill -STOP $PPID; sleep 0.05; done) & sleep 1000`))
	require.Equal(t, "SupervisorStopped", terminated(always).Reason)
	require.Contains(t, terminated(always).Message, "again and again")
	require.Equal(t, corev1.PodFailed, always.Status.Phase)
	require.Empty(t, always.Status.Reason, "the node was not lost")
}
