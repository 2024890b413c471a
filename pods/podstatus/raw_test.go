package podstatus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

const (
	downloader = "flyte-copilot-downloader"
	uploader   = podspec.UploaderName
)

// observedRaw is the state of a raw container's pod.
func observedRaw(t *testing.T, change func(*corev1.Pod)) plugin.State {
	t.Helper()
	config := podspec.DefaultConfig()
	config.Copilot.Image = "flyte-binary:v1"
	template := plugintest.ContainerTask(func(c *core.Container) { c.DataConfig = &core.DataLoadingConfig{Enabled: true} })
	variables := &core.VariableMap{Variables: []*core.VariableEntry{{Key: "x", Value: &core.Variable{}}}}
	template.Interface = &core.TypedInterface{Inputs: variables, Outputs: variables}
	attempt := plugintest.AttemptOf(template)
	made := podOf(t, config, attempt)
	made.Spec.NodeName = "n"
	change(made)
	return observedBy(t, config, attempt, made, time.Second)
}

func statuses(uploaderState, downloaderState, primaryState corev1.ContainerState) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: uploader, State: uploaderState}, {Name: downloader, State: downloaderState}}
		p.Status.ContainerStatuses = container(primaryState)
	}
}

// Story R3: a raw container that exited with an error never failed its action; its pod was recreated forever.
func TestNonZeroExitOfARawContainerFailsTheAttemptAtOnce(t *testing.T) {
	up := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	state := observedRaw(t, func(p *corev1.Pod) {
		statuses(up, exits(0), exits(3))(p)
		p.Status.Phase = corev1.PodRunning // the sidecar still runs
	})
	require.Equal(t, failed, state.Phase)
	require.Equal(t, failure.ContainerFailed, state.Failure.Reason)
	require.Equal(t, failure.User, state.Failure.Class)
	require.Contains(t, state.Failure.Message, "exit code 3")
	require.True(t, state.Settled, "the exit code wins over the sidecar's error about missing outputs")
}

func TestStatesOfRawContainers(t *testing.T) {
	up := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	wait := waits("PodInitializing")

	state := observedRaw(t, func(p *corev1.Pod) { statuses(up, up, wait)(p); p.Status.Phase = corev1.PodPending })
	require.Equal(t, initializing, state.Phase)

	state = observedRaw(t, func(p *corev1.Pod) { statuses(up, exits(0), up)(p); p.Status.Phase = corev1.PodRunning })
	require.Equal(t, running, state.Phase)
	require.Equal(t, "primary", state.LogContext.Pods[0].PrimaryContainerName, "its log comes first")

	state = observedRaw(t, func(p *corev1.Pod) { statuses(up, exits(0), exits(0))(p); p.Status.Phase = corev1.PodRunning })
	require.Equal(t, running, state.Phase, "the outputs are being uploaded")
	require.Contains(t, state.Message, "outputs")

	state = observedRaw(t, func(p *corev1.Pod) { statuses(exits(0), exits(0), exits(0))(p); p.Status.Phase = corev1.PodSucceeded })
	require.Equal(t, succeeded, state.Phase)

	state = observedRaw(t, func(p *corev1.Pod) { statuses(exits(1), exits(0), exits(0))(p); p.Status.Phase = corev1.PodSucceeded })
	require.Equal(t, succeeded, state.Phase, "the reconciler looks for the outputs in the object store")

	state = observedRaw(t, func(p *corev1.Pod) { statuses(exits(143), exits(1), wait)(p); p.Status.Phase = corev1.PodFailed })
	require.Equal(t, failure.CopilotFailed, state.Failure.Reason)
	require.Contains(t, state.Failure.Message, downloader, "not the sidecar, which was stopped with it")
	require.False(t, state.Settled, "it has left an error document")

	state = observedRaw(t, func(p *corev1.Pod) { statuses(exits(0), exits(0), exits(139))(p); p.Status.Phase = corev1.PodFailed })
	require.Equal(t, failure.SegmentationFault, state.Failure.Reason)
}
