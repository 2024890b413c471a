package pod_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

func (b *bench) advance(t *testing.T, attempt *plugin.Attempt) plugin.State {
	t.Helper()
	state, err := b.plugin.Advance(context.Background(), attempt)
	require.NoError(t, err)
	return state
}

// sync fills the cache with what the API server has.
func (b *bench) sync() {
	for name, pod := range b.pods {
		b.cache[name] = pod
	}
}

func TestCacheThatIsBehindMakesNoSecondPod(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	first := b.advance(t, attempt)
	require.NotEmpty(t, first.Object)
	for range 5 {
		state := b.advance(t, attempt)
		require.Nil(t, state.Failure)
		require.Equal(t, first.Object, state.Object)
	}
	require.Zero(t, b.reads, "a pod that was just created is not read")
	b.clock.Step(time.Minute)
	state := b.advance(t, attempt)
	require.Nil(t, state.Failure, "not even a very stale cache loses the attempt")
	require.Equal(t, 1, b.reads)
	require.Equal(t, 1, b.created)
}

// TestPodsAreNotReadWhileTheCacheIsBehind: in a burst, reads of every pod would slow down the API server that the cache waits for.
func TestPodsAreNotReadWhileTheCacheIsBehind(t *testing.T) {
	var seen, known bool
	b := newBenchSeen(t, func(object client.Object, _ string) (bool, bool) {
		require.IsType(t, &corev1.Pod{}, object)
		return seen, known
	})
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	b.advance(t, attempt)
	known = true
	b.clock.Step(30 * time.Second)
	state := b.advance(t, attempt)
	require.Nil(t, state.Failure)
	require.Positive(t, state.Recheck)
	require.Zero(t, b.reads)

	known = false
	b.advance(t, attempt)
	require.Equal(t, 1, b.reads, "nobody knows how far the cache is")
}

// TestPodThatTheCacheShouldHaveIsRead: it was deleted before the cache saw it, or the cache has stopped.
func TestPodThatTheCacheShouldHaveIsRead(t *testing.T) {
	for name, after := range map[string]struct {
		seen bool
		age  time.Duration
	}{"the cache is further": {true, 3 * time.Second}, "the cache is behind for too long": {false, time.Minute}} {
		b := newBenchSeen(t, func(client.Object, string) (bool, bool) { return after.seen, true })
		attempt := plugintest.AttemptOf(plugintest.ContainerTask())
		b.advance(t, attempt)
		clear(b.pods)
		b.clock.Step(after.age)
		state := b.advance(t, attempt)
		require.NotNil(t, state.Failure, name)
		require.Equal(t, failure.DeletedExternally, state.Failure.Reason, name)
		require.Equal(t, 1, b.reads, name)
	}
}

func TestPodThatIsGoneIsLostAtOnce(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	b.advance(t, attempt)
	b.sync()
	b.advance(t, attempt)
	clear(b.pods)
	clear(b.cache)
	state := b.advance(t, attempt)
	require.Equal(t, failure.DeletedExternally, state.Failure.Reason)
	require.Equal(t, 1, b.created, "it is not created again")
}

func TestKnownPodIsNotMadeAgainByAnotherProcess(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	attempt.Known = "pod-uid"
	state := b.advance(t, attempt)
	require.Equal(t, failure.DeletedExternally, state.Failure.Reason)
	require.Zero(t, b.created)
}

func TestNothingIsCreatedWithoutMayLaunch(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	attempt.MayLaunch = false
	require.Equal(t, common.ActionPhase_ACTION_PHASE_UNSPECIFIED, b.advance(t, attempt).Phase)
	require.Zero(t, b.created)
}

func TestPodOfAnotherProcessIsAdopted(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	made := b.build(t, attempt)
	successor := newBench(t)
	successor.pods = b.pods // its cache is empty
	state := successor.advance(t, attempt)
	require.Equal(t, made.UID, state.Object)
	require.Zero(t, successor.created)
}

func TestPodOfAPredecessorIsReplaced(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	old := b.build(t, attempt)
	next := plugintest.AttemptOf(plugintest.ContainerTask())
	next.Task.UID = "another-task"
	successor := newBench(t)
	successor.pods = b.pods
	state := successor.advance(t, next)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, state.Phase)
	require.Contains(t, successor.deleted, old.UID)
	require.Positive(t, state.Recheck)
	require.NotEmpty(t, successor.advance(t, next).Object)
	require.Equal(t, 1, successor.created)
}

func TestStrangersPodIsLeftAlone(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	name := v1.PodName(attempt.Task.Name, 1)
	b.pods[name] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "strange"}}
	state := b.advance(t, attempt)
	require.Contains(t, state.Message, "to be deleted")
	require.Empty(t, b.deleted)
}

// Story R2: a pod that was still terminating was recreated under its name twelve times a second, rejected creations
// used up the quota, and the rejection counted as the user's error.
func TestRefusals(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())

	b.refuse = apierrors.NewForbidden(pods(), "x", errors.New("exceeded quota: cpu"))
	state := b.advance(t, attempt)
	require.Nil(t, state.Failure)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, state.Phase)
	require.Contains(t, state.Message, "exceeded quota")
	require.Contains(t, state.Message, "retrying in about 1 s")
	pause := state.Recheck
	for range 4 {
		state = b.advance(t, attempt)
	}
	require.Contains(t, state.Message, "retrying in about 16 s")
	require.Greater(t, state.Recheck, pause)
	b.advance(t, attempt)
	require.Equal(t, b.advance(t, attempt).Message, b.advance(t, attempt).Message, "a long wait is not reported again")

	b.refuse = errors.New("connection refused")
	_, err := b.plugin.Advance(context.Background(), attempt)
	require.Error(t, err, "an outage costs no attempt")

	b.refuse = apierrors.NewForbidden(pods(), "x", errors.New("violates PodSecurity"))
	require.Equal(t, failure.ObjectForbidden, b.advance(t, attempt).Failure.Reason)
}

func TestRemove(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	require.NoError(t, b.plugin.Remove(context.Background(), attempt), "there is nothing to delete")
	made := b.build(t, attempt)
	require.NoError(t, b.plugin.Remove(context.Background(), attempt))
	require.Equal(t, made.UID, b.deleted[0], "though no cache has seen it")

	b.pods[made.Name], b.cache[made.Name] = made, made
	other := plugintest.AttemptOf(plugintest.ContainerTask())
	other.Task.UID = "another-task"
	require.NoError(t, b.plugin.Remove(context.Background(), other))
	require.Len(t, b.deleted, 1, "the pod of another TaskAction stays")
}

// A 409 does not prove that another pod has the name by now, so that the deletion must be retried.
func TestRemoveRetriesAConflict(t *testing.T) {
	for name, cached := range map[string]bool{"the cache has the pod": true, "the cache does not have the pod yet": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			attempt := plugintest.AttemptOf(plugintest.ContainerTask())
			made := b.build(t, attempt)
			if cached {
				b.cache[made.Name] = made
			}
			b.refuse = apierrors.NewConflict(pods(), made.Name, errors.New("try again"))
			require.True(t, apierrors.IsConflict(b.plugin.Remove(context.Background(), attempt)))
			require.Empty(t, b.deleted)
			b.refuse = nil
			require.NoError(t, b.plugin.Remove(context.Background(), attempt))
			require.Equal(t, []types.UID{made.UID}, b.deleted)
		})
	}
}

func TestIdentityOfPods(t *testing.T) {
	made := newBench(t).build(t, plugintest.AttemptOf(plugintest.ContainerTask()))
	require.Equal(t, "r1-a0-0123abcd-0", made.Name)
	require.Equal(t, "ns", made.Namespace)
	require.Equal(t, v1.ManagedValue, made.Labels[v1.LabelManaged])
	require.Equal(t, "task-uid", string(made.OwnerReferences[0].UID))
	require.True(t, *made.OwnerReferences[0].Controller)
}

func TestAnAttemptThatCannotBeBuiltIsLost(t *testing.T) {
	b := newBench(t)
	state := b.advance(t, plugintest.AttemptOf(&core.TaskTemplate{}))
	require.Equal(t, failure.BadTaskSpecification, state.Failure.Reason)
	require.Zero(t, b.created)
}

// TestNoFailureHasAValueThatThePodWasGiven: a container runtime says which command it did not find after it expanded it. The
// pod comes from a cache, which keeps the names of its Secrets alone.
func TestNoFailureHasAValueThatThePodWasGiven(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	made := b.build(t, attempt)
	made.Spec.NodeName = "n"
	made.Spec.Containers[0].Env = append(made.Spec.Containers[0].Env, corev1.EnvVar{Name: "S", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "given"}, Key: "key"},
	}})
	b.secrets = map[string][]byte{"key": []byte("hunter2")}
	made.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name: made.Spec.Containers[0].Name,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 128, Reason: "StartError", Message: `exec: "hunter2": executable file not found in $PATH: unknown`,
		}},
	}}}
	stripped, err := podstatus.Strip(made.DeepCopy())
	require.NoError(t, err)
	for where, pod := range map[string]*corev1.Pod{"as the API server has it": made, "as the cache has it": stripped.(*corev1.Pod)} {
		b.cache[made.Name] = pod
		state := b.advance(t, attempt)
		require.Equal(t, failure.StartError, state.Failure.Reason, where)
		require.Contains(t, state.Failure.Message, `exec: "[secret key]": executable file not found`, where)
		require.NotContains(t, state.Failure.Message, "hunter2", where)
	}
}
