package podstatus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

const (
	queued       = common.ActionPhase_ACTION_PHASE_QUEUED
	waiting      = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES
	initializing = common.ActionPhase_ACTION_PHASE_INITIALIZING
	running      = common.ActionPhase_ACTION_PHASE_RUNNING
	succeeded    = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	failed       = common.ActionPhase_ACTION_PHASE_FAILED
)

// podOf returns the pod of an attempt as a cluster has it that has not processed it yet.
func podOf(t *testing.T, config podspec.Config, attempt *plugin.Attempt) *corev1.Pod {
	t.Helper()
	builder, err := podspec.New(config, podspec.Deps{Live: &plugintest.PodTemplates{}, Store: &plugintest.Blobs{}, Clock: clock.NewFake(plugintest.Now())})
	require.NoError(t, err)
	template, err := builder.Build(t.Context(), attempt)
	require.NoError(t, err)
	made := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	made.Namespace, made.Name, made.UID = attempt.Task.Namespace, v1.PodName(attempt.Task.Name, attempt.Number), "pod-uid"
	made.CreationTimestamp = metav1.NewTime(plugintest.Now())
	return made
}

// observedBy returns the state that is read from the cached pod when it has this age.
func observedBy(t *testing.T, config podspec.Config, attempt *plugin.Attempt, made *corev1.Pod, age time.Duration) plugin.State {
	t.Helper()
	cached, err := podstatus.Strip(made.DeepCopy())
	require.NoError(t, err)
	return podstatus.NewReader(config, clock.NewFake(plugintest.Now().Add(age))).Observe(attempt, cached.(*corev1.Pod))
}

// observed is the state of a pod that was created `age` ago.
func observed(t *testing.T, age time.Duration, change func(*corev1.Pod)) plugin.State {
	t.Helper()
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	made := podOf(t, podspec.DefaultConfig(), attempt)
	change(made)
	return observedBy(t, podspec.DefaultConfig(), attempt, made, age)
}

func container(state corev1.ContainerState) []corev1.ContainerStatus {
	return []corev1.ContainerStatus{{Name: "primary", State: state}}
}

func waits(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "because"}}
}

func exits(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, StartedAt: metav1.NewTime(time.Unix(100, 0)), FinishedAt: metav1.NewTime(time.Unix(200, 0)),
	}}
}

// unprepared is a pod whose volumes the kubelet cannot make, of which it says nothing but in events.
func unprepared(p *corev1.Pod) {
	p.Spec.NodeName, p.Status.Phase = "n", corev1.PodPending
	p.Status.ContainerStatuses = container(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}})
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse, LastTransitionTime: p.CreationTimestamp}}
}

func TestStatesOfPods(t *testing.T) {
	deleting := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 35, 0, time.UTC)) // 30 s after the pod was made
	always := corev1.ContainerRestartPolicyAlways
	for _, tc := range []struct {
		name   string
		age    time.Duration
		change func(*corev1.Pod)
		phase  common.ActionPhase
		reason failure.Reason
		words  string
	}{
		{"just created", 0, func(*corev1.Pod) {}, queued, "", ""},
		{"no scheduler", time.Minute, func(*corev1.Pod) {}, waiting, "", "not scheduled yet"},
		{"unschedulable", 0, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no nodes"}}
		}, waiting, "", "no nodes"},
		{"unschedulable for a day", 24 * time.Hour, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no nodes"}}
		}, waiting, "", "no nodes"},
		{"scheduled", 0, func(p *corev1.Pod) { p.Spec.NodeName = "n" }, initializing, "", ""},
		{"creating", time.Hour, func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.ContainerStatuses = "n", container(waits("ContainerCreating"))
		}, initializing, "", "because"},
		{"image, in grace", time.Minute, func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.ContainerStatuses = "n", container(waits("ImagePullBackOff"))
		}, initializing, "", "could not be pulled"},
		{"image, beyond grace", time.Hour, func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.ContainerStatuses = "n", container(waits("ImagePullBackOff"))
		}, failed, failure.ImagePullBackOff, ""},
		{"image, grace begins after the init containers", time.Hour, func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.ContainerStatuses = "n", container(waits("ImagePullBackOff"))
			p.Status.Conditions = []corev1.PodCondition{{
				Type: corev1.PodInitialized, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(p.CreationTimestamp.Add(time.Hour - time.Minute)),
			}}
		}, initializing, "", ""},
		{"image name", 0, func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.ContainerStatuses = "n", container(waits("InvalidImageName"))
		}, failed, failure.InvalidImageName, ""},
		{"a volume that does not exist, seen at once", 20 * time.Second, unprepared, initializing, "", ""},
		{"a volume that does not exist", time.Minute, unprepared, initializing, "", "ConfigMap"},
		{"a volume that does not exist for long", time.Hour, unprepared, failed, failure.ContainerStuck, "ConfigMap"},
		{"init container stuck", time.Hour, func(p *corev1.Pod) {
			p.Spec.NodeName = "n"
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: waits("CreateContainerError")}}
			p.Status.ContainerStatuses = container(waits("PodInitializing"))
		}, failed, failure.CreateContainerError, "init"},
		{"running", 0, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodRunning
			p.Status.ContainerStatuses = container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		}, running, "", ""},
		{"done", 0, func(p *corev1.Pod) {
			p.Status.Phase, p.Status.ContainerStatuses = corev1.PodSucceeded, container(exits(0))
		}, succeeded, "", ""},
		{"done while helpers linger", 0, func(p *corev1.Pod) {
			p.Status.Phase, p.Status.ContainerStatuses = corev1.PodRunning, container(exits(0))
		}, succeeded, "", ""},
		{"done while an upload is running", 0, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "uploader", RestartPolicy: &always}}
			p.Status.Phase, p.Status.ContainerStatuses = corev1.PodRunning, container(exits(0))
		}, running, "", ""},
		{"done and uploaded", 0, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "uploader", RestartPolicy: &always}}
			p.Status.Phase, p.Status.ContainerStatuses = corev1.PodSucceeded, container(exits(0))
		}, succeeded, "", ""},
		{"done although being deleted", 0, func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Status.ContainerStatuses = &deleting, container(exits(0))
		}, succeeded, "", ""},
		{"failed", 0, func(p *corev1.Pod) {
			p.Status.Phase, p.Status.ContainerStatuses = corev1.PodFailed, container(exits(3))
		}, failed, failure.ContainerFailed, "exit code 3"},
		{"stopped by a deletion", 0, func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Status.Phase, p.Status.ContainerStatuses = &deleting, corev1.PodFailed, container(exits(143))
		}, failed, failure.UnexpectedDeletion, ""},
		{"stopped by an eviction", 0, func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.ContainerStatuses = corev1.PodFailed, "Evicted", container(exits(137))
		}, failed, failure.Evicted, ""},
		{"failed in an init container", 0, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: exits(2)}}
			p.Status.ContainerStatuses = container(waits("PodInitializing"))
		}, failed, failure.ContainerFailed, "container init"},
		{"failed without a word", 0, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, failed, failure.UnknownError, ""},
		{"no primary container", 0, func(p *corev1.Pod) { p.Status.Phase, p.Spec.Containers = corev1.PodSucceeded, nil }, failed, failure.PrimaryContainerNotFound, ""},
		{"being deleted, in grace", 20 * time.Second, func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Status.Phase = &deleting, corev1.PodRunning
			p.Status.ContainerStatuses = container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		}, running, "", ""},
		{"being deleted forever", time.Hour, func(p *corev1.Pod) {
			p.DeletionTimestamp, p.Status.Phase = &deleting, corev1.PodRunning
			p.Status.ContainerStatuses = container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
		}, failed, failure.NodeLost, "overdue"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			state := observed(t, tc.age, tc.change)
			require.Equal(t, tc.phase, state.Phase)
			words := state.Message
			if tc.reason != "" {
				require.NotNil(t, state.Failure)
				require.Equal(t, tc.reason, state.Failure.Reason)
				words = state.Failure.Message
			} else {
				require.Nil(t, state.Failure)
			}
			require.Contains(t, words, tc.words)
		})
	}
}

func TestGraceRequestsARecheck(t *testing.T) {
	state := observed(t, time.Minute, func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.ContainerStatuses = "n", container(waits("ImagePullBackOff"))
	})
	require.Equal(t, podspec.DefaultGrace().ImagePull-time.Minute, state.Recheck)
}

func TestLogContextNamesContainersAndTimes(t *testing.T) {
	state := observed(t, 0, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.ContainerStatuses = corev1.PodSucceeded, container(exits(0))
	})
	require.Equal(t, "r1-a0-0123abcd-0", state.LogContext.GetPrimaryPodName())
	pod := state.LogContext.GetPods()[0]
	require.Equal(t, "ns", pod.GetNamespace())
	require.Equal(t, "primary", pod.GetContainers()[0].GetContainerName())
	require.Equal(t, int64(100), pod.GetContainers()[0].GetProcess().GetContainerStartTime().GetSeconds())
	require.Equal(t, int64(200), pod.GetContainers()[0].GetProcess().GetContainerEndTime().GetSeconds())
	require.Equal(t, time.Unix(200, 0).UTC(), state.EndedAt.UTC())
}

func TestLogLinks(t *testing.T) {
	config := podspec.DefaultConfig()
	config.LogLinks = []podspec.LogLink{
		{Name: "cluster", URI: "https://logs/{{ .namespace }}/{{.PODNAME}}?node={{.hostname}}"},
		{Name: "address", URI: "http://{{.podIP}}:80"},
		{Name: "dashboard", URI: "http://{{.podName}}", Roles: []string{"head"}},
		{Name: "window", URI: "https://logs/?from={{.podUnixStartTime}}&to={{.podUnixFinishTime}}"},
	}
	template := plugintest.ContainerTask()
	template.Metadata = &core.TaskMetadata{LogLinks: []*core.TaskLog{{Name: "board", Uri: "https://board/{{.runName}}/{{.actionName}}", LinkType: core.TaskLog_DASHBOARD}}}
	attempt := plugintest.AttemptOf(template)
	made := podOf(t, config, attempt)
	made.Spec.NodeName = "n"
	made.Status.ContainerStatuses = container(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(time.Unix(100, 0))}})
	links := observedBy(t, config, attempt, made, 0).LogLinks
	require.Len(t, links, 2, "the end and the address are not known yet, and the pod is no head")
	require.Equal(t, "https://board/r1/a0", links[0].GetUri())
	require.Equal(t, core.TaskLog_DASHBOARD, links[0].GetLinkType())
	require.Equal(t, "https://logs/ns/r1-a0-0123abcd-0?node=n", links[1].GetUri())

	made.Status.ContainerStatuses, made.Status.PodIP = container(exits(0)), "fd00::1"
	made.Labels[podspec.LabelRole] = "head"
	links = observedBy(t, config, attempt, made, 0).LogLinks
	require.Equal(t, "http://[fd00::1]:80", links[2].GetUri())
	require.Equal(t, "http://r1-a0-0123abcd-0", links[3].GetUri())
	require.True(t, links[3].GetHideOnceFinished(), "the dashboard ends with the attempt")
	require.Equal(t, core.TaskLog_DASHBOARD, links[3].GetLinkType())
	require.Equal(t, "https://logs/?from=100&to=200", links[4].GetUri())
	require.Equal(t, "https://board/{{.runName}}/{{.actionName}}", template.GetMetadata().GetLogLinks()[0].GetUri(), "the task is unchanged")
}

// TestWhoStoppedAProcessThatExitedWith0: a process that is asked to stop may exit with 0. If it left no outputs, it did not end by itself.
func TestWhoStoppedAProcessThatExitedWith0(t *testing.T) {
	deleted := func(at time.Time) func(*corev1.Pod) {
		grace, until := int64(30), metav1.NewTime(at.Add(30*time.Second))
		return func(p *corev1.Pod) {
			p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &until, &grace
			p.Status.Phase, p.Status.ContainerStatuses = corev1.PodSucceeded, container(exits(0)) // at 200 s
		}
	}
	require.Equal(t, failure.UnexpectedDeletion, observed(t, 0, deleted(time.Unix(150, 0))).Stopped.Reason)
	require.Equal(t, failure.UnexpectedDeletion, observed(t, 0, deleted(time.Unix(200, 0))).Stopped.Reason)
	require.Nil(t, observed(t, 0, deleted(time.Unix(210, 0))).Stopped, "it had ended before")
	require.Equal(t, failure.Evicted, observed(t, 0, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.ContainerStatuses = corev1.PodSucceeded, "Evicted", container(exits(0))
	}).Stopped.Reason)
	require.Nil(t, observed(t, 0, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.ContainerStatuses = corev1.PodSucceeded, container(exits(0))
	}).Stopped)
}

// TestASignalOfTheTasksOwn: os.kill(os.getpid(), 9) ran four times as a failure of the system. Only the local node knows who sent a signal.
func TestASignalOfTheTasksOwn(t *testing.T) {
	for _, code := range []int32{137, 143} {
		by := func(name string, status corev1.ConditionStatus) plugin.State {
			return observed(t, 0, func(p *corev1.Pod) {
				p.Status.Phase, p.Status.ContainerStatuses = corev1.PodFailed, container(exits(code))
				p.Status.Conditions = []corev1.PodCondition{{Type: "flyte.org/EndedByItself", Status: status, Message: name}}
			})
		}
		own := by("primary", corev1.ConditionTrue).Failure
		require.Equal(t, failure.Signalled, own.Reason)
		require.Equal(t, failure.User, own.Class)
		require.Equal(t, failure.System, by("sidecar", corev1.ConditionTrue).Failure.Class)
		require.Equal(t, failure.System, by("primary", corev1.ConditionFalse).Failure.Class)
	}
}
