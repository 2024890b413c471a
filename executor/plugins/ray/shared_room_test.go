package ray_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/rayclusters"
	"github.com/flyte-binary/flyte-binary/executor/plugins/ray/sharing"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// aFullProjectWaits until one of its clusters is idle: neither an attempt of another project nor one that shares a cluster waits for it.
func aFullProjectWaits(t *testing.T) {
	b := newBench(t)
	config := operated.DefaultConfig()
	config.MaxSharedRayClusters, config.MaxSharedRayClustersPerProject = 2, 1
	p := b.startWith(config)
	of := func(run, project, environment string) *plugin.Attempt {
		return b.attempt(run, "f", func(a *plugin.Attempt) { a.Task.Spec.Project, a.Template.Id.Name = project, environment+".f" })
	}
	waits := func(attempt *plugin.Attempt, words string) {
		t.Helper()
		state, err := p.Advance(t.Context(), attempt)
		require.NoError(t, err)
		require.Nil(t, state.Failure)
		require.Equal(t, common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, state.Phase)
		require.Equal(t, "SharedRayClustersFull", state.Reason)
		require.Contains(t, state.Message, words)
		require.Positive(t, state.Recheck)
		require.Empty(t, state.Object)
	}
	first, second, other, last := of("r1", "p", "one"), of("r2", "p", "two"), of("r3", "q", "one"), of("r4", "z", "one")
	b.launch(p, first)
	waits(second, "project p has 1 shared Ray clusters, as many as executor.plugins.operators.maxSharedRayClustersPerProject allows")
	b.launch(p, other)
	waits(last, "the installation has 2 shared Ray clusters, as many as executor.plugins.operators.maxSharedRayClusters allows")
	same := of("r5", "p", "one")
	b.launch(p, same)
	b.remove(p, first)
	b.clock.Step(time.Hour)
	waits(second, "project p")

	b.remove(p, same)
	waits(second, "project p") // the cluster was used a moment ago
	b.clock.Step(sharing.LeastIdle)
	job := b.launch(p, second)
	require.Len(t, b.clusters(), 2, "the idle one ended before its time")
	require.NoError(t, b.Client.Get(t.Context(), client.ObjectKey{Namespace: b.Namespace, Name: clusterOf(t, job)}, blank("RayCluster")))
	waits(last, "the installation")

	b.remove(p, other)
	b.clock.Step(sharing.LeastIdle)
	b.launch(p, last)
	require.Len(t, b.clusters(), 2)
}

// anAttemptSaysWhatItsClusterWaitsFor, and is lost where that never comes.
func anAttemptSaysWhatItsClusterWaitsFor(t *testing.T) {
	b := newBench(t)
	p := b.start()
	attempt := b.attempt("r1", "f")
	job := b.launch(p, attempt)
	require.NoError(t, unstructured.SetNestedField(job.Object, "Initializing", "status", "jobDeploymentStatus"))
	require.NoError(t, b.Client.Status().Update(t.Context(), job))
	name := clusterOf(t, job)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: "h", Labels: map[string]string{rayclusters.LabelCluster: name, podspec.LabelRole: "head"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "ray-head", Image: "missing:1"}}},
	}
	require.NoError(t, b.Client.Create(t.Context(), pod))
	says := func(status corev1.PodStatus, done func(plugin.State) bool) plugin.State {
		t.Helper()
		status.Phase = corev1.PodPending
		pod.Status = status
		require.NoError(t, b.Client.Status().Update(t.Context(), pod))
		var state plugin.State
		require.Eventually(t, func() bool {
			b.clock.Step(6 * time.Second) // what was read of the cluster is old
			var err error
			state, err = p.Advance(t.Context(), attempt)
			require.NoError(t, err)
			return done(state)
		}, patience, 10*time.Millisecond)
		return state
	}
	noRoom := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu."}
	state := says(corev1.PodStatus{Conditions: []corev1.PodCondition{noRoom}}, func(s plugin.State) bool { return s.Reason == "Unschedulable" })
	require.Equal(t, common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, state.Phase)
	require.Equal(t, "the shared Ray cluster "+name+": head pod h: 0/3 nodes are available: 3 Insufficient cpu.", state.Message)
	require.False(t, state.Expected)

	image := corev1.PodStatus{
		Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(b.clock.Now())}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "ray-head", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "missing:1 not found"},
		}}},
	}
	state = says(image, func(s plugin.State) bool { return s.Reason == "ErrImagePull" })
	require.True(t, state.Stuck)
	require.Contains(t, state.Message, "missing:1 not found")
	state = says(image, func(s plugin.State) bool { return s.Failure != nil })
	require.Equal(t, "ImagePullBackOff", string(state.Failure.Reason))
	require.Contains(t, state.Failure.Message, "the shared Ray cluster "+name+": head pod h: ")
	require.True(t, state.StillRuns)
}
