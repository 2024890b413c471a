package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

func TestAPodThatSucceeds(t *testing.T) {
	b := setup(t)
	pod := b.run(t, b.shell("sleep 0.3; echo hello"))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
	require.Equal(t, b.cfg.Name, pod.Spec.NodeName)
	end := terminated(pod)
	require.Equal(t, "Completed", end.Reason)
	require.Zero(t, end.ExitCode)
	require.False(t, end.StartedAt.IsZero())
	require.False(t, end.FinishedAt.Before(&end.StartedAt))
	require.NotNil(t, pod.Status.StartTime)
	require.Equal(t, "127.0.0.1", pod.Status.PodIP)
	require.Equal(t, corev1.ConditionTrue, condition(pod, corev1.PodScheduled).Status)
	require.Equal(t, corev1.ConditionTrue, condition(pod, corev1.PodInitialized).Status)
	require.Equal(t, corev1.ConditionFalse, condition(pod, corev1.PodReady).Status)
	require.Equal(t, "PodCompleted", condition(pod, corev1.PodReady).Reason)
}

func TestARunningPod(t *testing.T) {
	b := setup(t)
	pod := b.running(t, b.create(t, b.shell("sleep 100")))
	require.Equal(t, corev1.ConditionTrue, condition(pod, corev1.PodReady).Status)
	status := pod.Status.ContainerStatuses[0]
	require.NotNil(t, status.State.Running)
	require.True(t, status.Ready)
	require.True(t, *status.Started)
	require.NotEmpty(t, status.ContainerID)
	require.NotEmpty(t, status.ImageID)
}

func TestExitCodesAndSignals(t *testing.T) {
	b := setup(t)
	for _, tc := range []struct {
		script string
		code   int32
	}{
		{"exit 3", 3},
		{"kill -KILL $$", 137},
		{"kill -SEGV $$", 128 + int32(syscall.SIGSEGV)},
	} {
		pod := b.run(t, b.shell(tc.script))
		require.Equal(t, corev1.PodFailed, pod.Status.Phase, tc.script)
		require.Equal(t, tc.code, terminated(pod).ExitCode, tc.script)
		require.Equal(t, "Error", terminated(pod).Reason, tc.script)
	}
}

// TestWhoEndedAContainer: a real kubelet does not say who sent a signal. This node knows its own.
func TestWhoEndedAContainer(t *testing.T) {
	b := setup(t)
	own := func(pod *corev1.Pod) bool {
		for _, c := range pod.Status.Conditions {
			if c.Type == "flyte.org/EndedByItself" && c.Status == corev1.ConditionTrue {
				return c.Message == pod.Spec.Containers[0].Name
			}
		}
		return false
	}
	require.True(t, own(b.run(t, b.shell("kill -KILL $$"))))
	require.True(t, own(b.run(t, b.shell("kill -TERM $$"))))
	require.True(t, own(b.run(t, b.shell("exit 137"))))
	require.False(t, own(b.run(t, b.shell("exit 3"))))
}

// TestAMissingObjectOfAVolumeIsNotWaitedForLong: the reason is one that the executor bounds. The container starts if the object comes in time.
func TestAMissingObjectOfAVolumeIsNotWaitedForLong(t *testing.T) {
	b := setup(t)
	pod := b.create(t, b.shell("cat /etc/absent/x", func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "absent", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "absent"},
		}}}}
	}))
	require.Eventually(t, func() bool {
		now, err := b.client.CoreV1().Pods(pod.Namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil || len(now.Status.ContainerStatuses) == 0 || now.Status.ContainerStatuses[0].State.Waiting == nil {
			return false
		}
		waits := now.Status.ContainerStatuses[0].State.Waiting
		return waits.Reason == "CreateContainerConfigError" && strings.Contains(waits.Message, "absent")
	}, 20*time.Second, 10*time.Millisecond)
}

// TestWhatTheMachineCannotMountIsNotTheTasksFailure: the attempt is lost by the system, whatever its command is.
func TestWhatTheMachineCannotMountIsNotTheTasksFailure(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mount namespaces need root")
	}
	b := setup(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	pod := b.run(t, b.shell("true", withVolumes(map[string]corev1.VolumeSource{file: {EmptyDir: &corev1.EmptyDirVolumeSource{}}})))
	require.Equal(t, corev1.PodFailed, pod.Status.Phase)
	require.Equal(t, "ContainerStatusUnknown", terminated(pod).Reason)
	require.Contains(t, terminated(pod).Message, "could not start any process for the container: mount a volume at "+file)

	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	pod.Spec.Containers[0].Name, pod.Status.ContainerStatuses[0].Name = "primary", "primary"
	lost := podstatus.NewReader(podspec.DefaultConfig(), clock.System{}).Observe(attempt, pod).Failure
	require.Equal(t, failure.NodeLost, lost.Reason)
	require.Equal(t, failure.Infra, lost.Class)
	require.Contains(t, lost.Message, "mount a volume at "+file)
}

func TestTerminationMessage(t *testing.T) {
	b := setup(t)
	own := b.run(t, b.shell("echo noise; echo my words >/dev/termination-log; exit 1"))
	require.Equal(t, "my words\n", terminated(own).Message)
	fallback := b.run(t, b.shell("echo first >&2; echo last >&2; exit 1", func(p *corev1.Pod) {
		p.Spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}))
	require.Equal(t, "first\nlast", terminated(fallback).Message)
	well := b.run(t, b.shell("echo first", func(p *corev1.Pod) {
		p.Spec.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	}))
	require.Empty(t, terminated(well).Message)
}

func TestInitContainersInOrderThenContainers(t *testing.T) {
	b := setup(t)
	out := filepath.Join(t.TempDir(), "out")
	step := func(name, script string) corev1.Container {
		return corev1.Container{Name: name, Image: "test", Command: []string{"sh", "-c", script}}
	}
	pod := b.run(t, b.shell("echo main >>"+out, func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{step("one", "sleep 0.2; echo one >>"+out), step("two", "echo two >>"+out)}
	}))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
	require.Equal(t, "one\ntwo\nmain", content(t, out))
	require.Len(t, pod.Status.InitContainerStatuses, 2)

	failed := b.run(t, b.shell("echo never >>"+out, func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{step("one", "exit 4"), step("two", "echo never >>"+out)}
	}))
	require.Equal(t, corev1.PodFailed, failed.Status.Phase)
	require.Equal(t, int32(4), failed.Status.InitContainerStatuses[0].State.Terminated.ExitCode)
	require.Equal(t, "PodInitializing", failed.Status.ContainerStatuses[0].State.Waiting.Reason)
	require.Equal(t, corev1.ConditionFalse, condition(failed, corev1.PodInitialized).Status)
	require.NotContains(t, content(t, out), "never")
}

func TestSidecar(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.run(t, b.shell("while [ ! -e "+dir+"/up ]; do sleep 0.01; done; echo main >>"+dir+"/order", func(p *corev1.Pod) {
		p.Spec.InitContainers = []corev1.Container{{
			Name: "side", Image: "test", RestartPolicy: ptr(corev1.ContainerRestartPolicyAlways),
			Command: []string{"sh", "-c", "trap 'echo side >>" + dir + "/order; exit 0' TERM; touch " + dir + "/up; while :; do sleep 0.02; done"},
		}}
	}))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
	require.Equal(t, "main\nside", content(t, dir+"/order"), "the sidecar ends after the container it serves")
}

func TestRestartPolicies(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.run(t, b.shell("echo x >>"+dir+"/n; [ $(wc -l <"+dir+"/n) = 3 ]", func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}))
	require.Equal(t, corev1.PodSucceeded, pod.Status.Phase)
	require.Equal(t, int32(2), pod.Status.ContainerStatuses[0].RestartCount)
	require.Equal(t, int32(1), pod.Status.ContainerStatuses[0].LastTerminationState.Terminated.ExitCode)

	always := b.create(t, b.shell("exit 0", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyAlways }))
	b.until(t, always, "restarted", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].RestartCount >= 2
	})
}

func TestDeletionIsGracefulThenHard(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	t.Run("graceful", func(t *testing.T) {
		pod := b.create(t, b.shell(`trap 'echo ended >`+dir+`/trap; exit 0' TERM; echo 1 >`+dir+`/ready; while :; do sleep 0.02; done`))
		content(t, dir+"/ready")
		b.delete(t, pod, 30)
		b.goneFromAPI(t, pod)
		require.Equal(t, "ended", content(t, dir+"/trap"))
	})
	t.Run("hard", func(t *testing.T) {
		script := `trap "" TERM; (setsid sh -c 'trap "" TERM; echo $$ >` + dir + `/child; while :; do sleep 1; done' &); echo $$ >` + dir + `/pid; while :; do sleep 1; done`
		pod := b.create(t, b.shell(script))
		pid, child := content(t, dir+"/pid"), content(t, dir+"/child")
		start := time.Now()
		b.delete(t, pod, 1)
		require.True(t, alive(t, pid))
		b.goneFromAPI(t, pod)
		require.GreaterOrEqual(t, time.Since(start), time.Second)
		require.False(t, alive(t, pid))
		require.False(t, alive(t, child), "even a process that left the process group")
	})
	t.Run("hard, after the grace of the pod itself", func(t *testing.T) {
		pod := b.create(t, b.shell(`trap "" TERM; echo $$ >`+dir+`/own; while :; do sleep 1; done`, func(p *corev1.Pod) {
			p.Spec.TerminationGracePeriodSeconds = ptr(int64(1))
		}))
		pid := content(t, dir+"/own")
		start := time.Now()
		require.NoError(t, b.client.CoreV1().Pods(b.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}))
		b.goneFromAPI(t, pod)
		require.GreaterOrEqual(t, time.Since(start), time.Second)
		require.False(t, alive(t, pid))
	})
	t.Run("by force", func(t *testing.T) {
		pod := b.create(t, b.shell(`trap "" TERM; echo $$ >`+dir+`/forced; while :; do sleep 1; done`))
		pid := content(t, dir+"/forced")
		b.delete(t, pod, 0)
		require.Eventually(t, func() bool { return !alive(t, pid) }, 10*time.Second, 5*time.Millisecond)
		require.Eventually(t, func() bool {
			_, err := os.Stat(filepath.Join(b.cfg.DataDir, "pods", string(uidOf(pod))))
			return os.IsNotExist(err)
		}, 10*time.Second, 5*time.Millisecond)
	})
	t.Run("after the end", func(t *testing.T) {
		pod := b.run(t, b.shell("exit 0"))
		b.delete(t, pod, 30)
		b.goneFromAPI(t, pod)
	})
}

// The end of a deleted pod can be seen before the pod is gone.
func TestADeletedPodReportsItsEnd(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.create(t, b.shell(`trap 'exit 6' TERM; echo 1 >`+dir+`/ready; while :; do sleep 0.02; done`))
	content(t, dir+"/ready")
	watch, err := b.client.CoreV1().Pods(b.namespace).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + pod.Name})
	require.NoError(t, err)
	defer watch.Stop()
	b.delete(t, pod, 30)
	var codes []int32
	for event := range watch.ResultChan() {
		seen, ok := event.Object.(*corev1.Pod)
		require.True(t, ok)
		codes = append(codes, terminated(seen).ExitCode)
		if event.Type == "DELETED" {
			break
		}
	}
	require.Equal(t, int32(6), codes[len(codes)-1])
}

func TestActiveDeadline(t *testing.T) {
	b := setup(t)
	pod := b.run(t, b.shell("exec sleep 100", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = ptr(int64(1)) }))
	require.Equal(t, corev1.PodFailed, pod.Status.Phase)
	require.Equal(t, "DeadlineExceeded", pod.Status.Reason)
	require.Equal(t, int32(143), terminated(pod).ExitCode)
}

func TestMemoryLimit(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.MemoryInterval = 20 * time.Millisecond })
	script := "x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nimport time; time.sleep(60)"
	pod := b.run(t, b.shell("", func(p *corev1.Pod) {
		p.Spec.Containers[0].Command = []string{"python3", "-c", script}
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("100Mi")}
	}))
	require.Equal(t, corev1.PodFailed, pod.Status.Phase)
	require.Equal(t, "OOMKilled", terminated(pod).Reason)
	require.Equal(t, int32(137), terminated(pod).ExitCode)
	require.Contains(t, b.event(t, pod, "OOMKilled"), "100Mi")
}

// A short pod costs a binding and one status. Running need not be seen before the end.
func TestWritesOfAShortPod(t *testing.T) {
	b := setup(t, func(c *nodeConfig) { c.RunningDelay = 20 * time.Second })
	b.run(t, b.shell("exit 0"))
	require.Equal(t, map[string]int{"POST binding": 1, "PATCH status": 1}, b.writes.take())
}

// The end of a pod is reported when the API server comes back, however long that takes.
func TestTheEndIsNotLostWhileTheAPIIsDown(t *testing.T) {
	b := setup(t)
	dir := t.TempDir()
	pod := b.running(t, b.create(t, b.shell("while [ ! -e "+dir+"/go ]; do sleep 0.01; done; exit 9")))
	b.writes.down.Store(true)
	touch(t, dir+"/go")
	require.Eventually(t, func() bool { return b.writes.hits.Load() >= 3 }, 10*time.Second, 5*time.Millisecond)
	b.writes.down.Store(false)
	require.Equal(t, int32(9), terminated(b.ended(t, pod)).ExitCode)
}

func TestCommandNotFound(t *testing.T) {
	b := setup(t)
	pod := b.run(t, b.shell("", func(p *corev1.Pod) {
		p.Spec.Containers[0].Image = "example.org/team/image:1"
		p.Spec.Containers[0].Command = []string{"no-such-command"}
	}))
	require.Equal(t, corev1.PodFailed, pod.Status.Phase)
	end := terminated(pod)
	require.Equal(t, "StartError", end.Reason)
	require.Equal(t, int32(128), end.ExitCode)
	for _, words := range []string{`"no-such-command"`, "example.org/team/image:1", "node.images"} {
		require.Contains(t, end.Message, words)
	}
	require.Contains(t, b.event(t, pod, "Failed"), "no-such-command")

	bare := b.run(t, b.shell("", func(p *corev1.Pod) { p.Spec.Containers[0].Command = nil }))
	require.Contains(t, terminated(bare).Message, "no command")
}

func TestImagesAreEnvironments(t *testing.T) {
	special, fallback := t.TempDir(), t.TempDir()
	for dir, word := range map[string]string{special: "special", fallback: "fallback"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "who"), []byte("#!/bin/sh\necho "+word+" $VIRTUAL_ENV\n"), 0o755))
	}
	b := setup(t, func(c *nodeConfig) {
		c.Environment = fallback
		c.Images = []nodeImage{{Pattern: "*", Environment: fallback}, {Pattern: "example.org/*:gpu", Environment: special}}
	})
	for image, want := range map[string]string{"example.org/a/b:gpu": "special " + special, "other": "fallback " + fallback} {
		pod := b.run(t, b.shell("", func(p *corev1.Pod) {
			p.Spec.Containers[0].Image, p.Spec.Containers[0].Command, p.Spec.Containers[0].Args = image, nil, []string{"who"}
		}))
		require.Equal(t, want, strings.TrimSpace(b.logs(t, pod, &corev1.PodLogOptions{})))
	}
}
