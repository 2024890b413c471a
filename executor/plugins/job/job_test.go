package job_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
)

func TestTheJobOfAnAttempt(t *testing.T) {
	b := newBench(t)
	made := b.launch(t, plugintest.AttemptOf(plugintest.ContainerTask()))
	require.Equal(t, "r1-a0-0123abcd-0", made.Name)
	require.Equal(t, "ns", made.Namespace)
	require.Equal(t, "task-uid", string(made.OwnerReferences[0].UID))
	require.True(t, *made.OwnerReferences[0].Controller)
	require.Equal(t, "r1", made.Labels[v1.LabelRun])
	require.Equal(t, "ml", made.Labels["team"])
	require.Equal(t, "x", made.Annotations["note"])
	require.Equal(t, "nightly", made.Labels["kueue.x-k8s.io/queue-name"])
	require.EqualValues(t, 1, *made.Spec.Parallelism)
	require.EqualValues(t, 1, *made.Spec.Completions)
	require.Zero(t, *made.Spec.BackoffLimit, "attempts are the reconciler's")
	require.Equal(t, batchv1.Failed, *made.Spec.PodReplacementPolicy, "one live pod at most")
	require.Nil(t, made.Spec.TTLSecondsAfterFinished)
	template := made.Spec.Template
	require.Equal(t, "true", template.Labels[v1.LabelManaged])
	require.Equal(t, "image", template.Spec.Containers[0].Image)
	require.Equal(t, corev1.RestartPolicyNever, template.Spec.RestartPolicy)
	watched := b.plugin.Watches()[1]
	key, found := watched.TaskAction(b.pod(made, "p"))
	require.True(t, found)
	require.Equal(t, "ns/r1-a0-0123abcd", key.String(), "changes of the pod wake its TaskAction")
}

// The name of a Job is the value of a label, which has fewer characters than the name of a pod.
func TestNamesOfJobsFitIntoLabels(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range []string{strings.Repeat("a", 54) + "-0123abcd", strings.Repeat("a", 52) + "-b-0123abcf", strings.Repeat("a", 54) + "-0123abce"} {
		require.LessOrEqual(t, len(name), 63)
		for _, number := range []int32{1, 2, 100} {
			b := newBench(t)
			attempt := plugintest.AttemptOf(plugintest.ContainerTask())
			attempt.Task.Name, attempt.Number = name, number
			made := b.launch(t, attempt)
			require.Empty(t, validation.IsDNS1123Label(made.Name), made.Name)
			require.False(t, seen[made.Name], made.Name)
			seen[made.Name] = true
		}
	}
}

func condition(kinds ...batchv1.JobConditionType) func(*bench, *batchv1.Job) {
	return func(_ *bench, made *batchv1.Job) {
		for _, kind := range kinds {
			made.Status.Conditions = append(made.Status.Conditions, batchv1.JobCondition{
				Type: kind, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonBackoffLimitExceeded, Message: "because",
			})
		}
	}
}

func withPod(change func(*corev1.Pod)) func(*bench, *batchv1.Job) {
	return func(b *bench, made *batchv1.Job) { change(b.pod(made, "p")) }
}

func runs(p *corev1.Pod) {
	p.Spec.NodeName, p.Status.Phase = "n", corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "primary", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
}

func exits(code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.Phase = "n", corev1.PodSucceeded
		if code != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "primary", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code},
		}}}
	}
}

func deleted(p *corev1.Pod) {
	exits(143)(p)
	now := metav1.NewTime(plugintest.Now())
	p.DeletionTimestamp = &now
}

func suspended(_ *bench, made *batchv1.Job) {
	yes := true
	made.Spec.Suspend = &yes
}

func TestStatesOfJobs(t *testing.T) {
	const (
		queued    = common.ActionPhase_ACTION_PHASE_QUEUED
		waiting   = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES
		running   = common.ActionPhase_ACTION_PHASE_RUNNING
		succeeded = common.ActionPhase_ACTION_PHASE_SUCCEEDED
		failed    = common.ActionPhase_ACTION_PHASE_FAILED
	)
	type change = func(*bench, *batchv1.Job)
	for name, tc := range map[string]struct {
		age    time.Duration
		what   []change
		phase  common.ActionPhase
		reason failure.Reason
		words  string
	}{
		"new":                           {phase: queued},
		"no pod yet":                    {age: time.Minute, phase: waiting, words: "waits for the Job controller"},
		"suspended":                     {age: time.Minute, what: []change{suspended}, phase: waiting, words: "has not admitted it: insufficient unused quota for cpu"},
		"suspended while it ran":        {what: []change{withPod(deleted), suspended}, phase: waiting, words: "suspended"},
		"running":                       {what: []change{withPod(runs)}, phase: running},
		"succeeded":                     {what: []change{withPod(exits(0))}, phase: succeeded},
		"succeeded, and then suspended": {what: []change{withPod(exits(0)), suspended}, phase: succeeded},
		"exit code":                     {what: []change{withPod(exits(3))}, phase: failed, reason: failure.ContainerFailed, words: "exit code 3"},
		"killed":                        {what: []change{withPod(exits(137))}, phase: failed, reason: failure.Killed},
		"deleted, not settled":          {what: []change{withPod(deleted)}, phase: running, words: "waiting for the Job controller"},
		"deleted, settled":              {what: []change{withPod(deleted), condition(batchv1.JobFailed)}, phase: failed, reason: failure.UnexpectedDeletion},
		"complete, its pod cleaned up":  {what: []change{condition(batchv1.JobComplete)}, phase: succeeded},
		"failed, its pod cleaned up": {
			what: []change{condition(batchv1.JobFailureTarget)}, phase: failed, reason: failure.DeletedExternally, words: "has failed without its pod",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			attempt := plugintest.AttemptOf(plugintest.ContainerTask())
			made := b.launch(t, attempt)
			for _, change := range tc.what {
				change(b, made)
			}
			b.clock.Step(tc.age)
			state := b.advance(t, attempt)
			require.Equal(t, tc.phase, state.Phase, state.Message)
			require.Equal(t, made.UID, state.Object)
			if tc.reason != "" {
				require.Equal(t, tc.reason, state.Failure.Reason)
				require.Contains(t, state.Failure.Message, tc.words)
			} else {
				require.Nil(t, state.Failure)
				require.Contains(t, state.Message, tc.words)
			}
			if len(made.Status.Conditions) == 0 {
				require.Zero(t, b.listed, "the API server is not asked while a Job lives")
			}
		})
	}
}

// The caches of Jobs and pods are independent: a failed Job whose pod is not cached yet may still have one.
func TestThePodOfAnEndedJobIsLookedForAtTheAPIServer(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	made := b.launch(t, attempt)
	exits(3)(b.pod(made, "p"))
	clear(b.cache.pods)
	condition(batchv1.JobFailed)(b, made)
	require.Equal(t, failure.ContainerFailed, b.advance(t, attempt).Failure.Reason)
}

// A Job that a queue suspends and resumes creates another pod; the earlier ones have ended.
func TestTheLatestPodCounts(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	made := b.launch(t, attempt)
	deleted(b.pod(made, "first"))
	b.clock.Step(time.Minute)
	runs(b.pod(made, "second"))
	state := b.advance(t, attempt)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_RUNNING, state.Phase)
	require.Equal(t, "second", state.LogContext.GetPrimaryPodName())
	logs, err := b.plugin.Logs(t.Context(), attempt)
	require.NoError(t, err)
	require.Equal(t, []plugin.Log{{Namespace: "ns", Pod: "second", Container: "primary"}}, logs)
}

func TestRemoveStopsWhatRuns(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	made := b.launch(t, attempt)
	runs(b.pod(made, "p"))
	stranger := b.pod(made, "of-another")
	stranger.Labels["flyte.org/task-action"] = "another"
	require.NoError(t, b.plugin.Remove(t.Context(), attempt))
	require.Equal(t, []string{made.Name + " Background", "p"}, b.deleted, "the Job first, or it would count a failure")
	require.Zero(t, b.plugin.Live())
}

func TestRemoveLeavesTheRestToTheGarbageCollector(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	made := b.launch(t, attempt)
	exits(0)(b.pod(made, "p"))
	require.NoError(t, b.plugin.Remove(t.Context(), attempt))
	require.Equal(t, []string{made.Name + " Background"}, b.deleted)
}

func TestAJobThatIsGoneIsLostAndNotCreatedAgain(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	b.launch(t, attempt)
	b.advance(t, attempt)
	clear(b.jobs)
	clear(b.cache.jobs)
	state := b.advance(t, attempt)
	require.Equal(t, failure.DeletedExternally, state.Failure.Reason)
	require.Contains(t, state.Failure.Message, "job r1-a0-0123abcd-0")
	require.Equal(t, 1, b.created)
}

func TestJobsThatTheClusterRefuses(t *testing.T) {
	b := newBench(t)
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	b.refuse = apierrors.NewForbidden(jobs, "x", errors.New("exceeded quota: count/jobs.batch"))
	require.Equal(t, common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, b.advance(t, attempt).Phase)
	b.refuse = apierrors.NewForbidden(jobs, "x", errors.New("no right"))
	state := b.advance(t, attempt)
	require.Equal(t, failure.ObjectForbidden, state.Failure.Reason)
	require.Contains(t, state.Failure.Message, "jobs.batch", "the operator can see which right is missing")
}
