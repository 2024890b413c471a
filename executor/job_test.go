package executor_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/executor"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

func withJobs(c *executor.Config) { c.Plugins.Enabled = []string{"pod", "job"} }

func asJob(t *core.TaskTemplate) { t.Config = map[string]string{"plugin": "job"} }

func (h *harness) jobs() []batchv1.Job {
	h.t.Helper()
	list, err := h.Clientset.BatchV1().Jobs(h.Namespace).List(context.Background(), metav1.ListOptions{})
	require.NoError(h.t, err)
	return list.Items
}

// awaitNothing waits until nothing of an action is left in the cluster, not even a Job.
func (h *harness) awaitNothing(task *v1.TaskAction) {
	h.t.Helper()
	h.awaitGone(task)
	require.Empty(h.t, h.jobs())
}

func TestAnActionRunsAsAJob(t *testing.T) {
	var ran seen
	release := make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{
		Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
			ran.add(pod)
			<-release
			return succeeds(ctx, pod)
		},
		Log: func(_, container string) string {
			return "2026-01-02T03:04:05.000000006Z hello from " + container + "\n"
		},
	}, withJobs)
	controller := startJobController(t, h.Cluster)
	action, task := h.submit(taskTemplate(asJob))
	h.record.awaitPhase(t, action, 1, state.Running)
	jobs := h.jobs()
	close(release)
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitNothing(task)

	require.Len(t, jobs, 1)
	job := jobs[0]
	require.Equal(t, v1.PodName(task.Name, 1), job.Name)
	require.True(t, metav1.IsControlledBy(&job, task))
	require.Equal(t, "true", job.Labels[v1.LabelManaged])
	require.Zero(t, *job.Spec.BackoffLimit)
	pod := ran.all()[0]
	require.Equal(t, controller.pods(), []string{pod.Name})
	require.True(t, metav1.IsControlledBy(pod, &job))
	require.Equal(t, "true", pod.Labels[v1.LabelManaged], "required to read its log")
	require.Equal(t, task.Labels[v1.LabelUID], pod.Labels[v1.LabelUID])
	require.Equal(t, "1", pod.Labels["flyte.org/attempt"])
	require.Equal(t, corev1.RestartPolicyNever, pod.Spec.RestartPolicy)

	history := h.record.history(action)
	require.Equal(t, []string{"1 RUNNING", "1 SUCCEEDED"}, history[len(history)-2:])
	end := h.record.last(action).GetEvent()
	require.Equal(t, pod.Name, end.GetLogContext().GetPrimaryPodName())
	sealed, err := os.ReadFile(blobpath.SealedLog(blobpath.AttemptDir(task.Spec.RunOutputBase, "a0", 1), "", "primary"))
	require.NoError(t, err)
	require.Equal(t, "2026-01-02T03:04:05.000000006Z hello from primary\n", string(sealed))
	require.Equal(t, 2, h.counter.Writes("jobs"), "created and deleted once: %v", h.counter.Snapshot())
	require.Zero(t, h.counter.Writes("pods"), "the Job controller writes them")
}

func TestJobsAreJudgedAndRetriedLikePods(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		switch pod.Labels["flyte.org/attempt"] {
		case "1": // The process says in its error document what was wrong.
			return fails("ValueError", "it is odd", core.ContainerError_RECOVERABLE, core.ExecutionError_USER)(ctx, pod)
		case "2": // It is killed from outside.
			return kubetest.Result{ExitCode: 137}
		default:
			return succeeds(ctx, pod)
		}
	}}, withJobs)
	controller := startJobController(t, h.Cluster)
	action, task := h.submit(taskTemplate(asJob, withRetries(1)))
	h.record.awaitPhase(t, action, 3, state.Succeeded)
	h.awaitNothing(task)
	var codes []string
	for _, transition := range h.record.events(action) {
		if code := transition.GetError().GetCode(); code != "" {
			codes = append(codes, code)
		}
	}
	require.Equal(t, []string{"ValueError", "Killed"}, codes)
	require.Len(t, controller.pods(), 3, "one for each attempt")
}

func TestAnAbortedJobLeavesNothing(t *testing.T) {
	stopped := make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, _ *corev1.Pod) kubetest.Result {
		<-ctx.Done()
		close(stopped)
		return kubetest.Result{}
	}}, withJobs)
	startJobController(t, h.Cluster)
	action, task := h.submit(taskTemplate(asJob))
	h.record.awaitPhase(t, action, 1, state.Running)
	h.record.end(action, state.Aborted)
	require.NoError(t, h.Client.Delete(t.Context(), task))
	h.awaitNothing(task)
	<-stopped
}

func TestARunningJobSurvivesARestart(t *testing.T) {
	release := make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		<-release
		return succeeds(ctx, pod)
	}}, withJobs)
	controller := startJobController(t, h.Cluster)
	action, task := h.submit(taskTemplate(asJob))
	h.record.awaitPhase(t, action, 1, state.Running)
	h.stop(h.service)
	h.start()
	close(release)
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitNothing(task)
	require.Len(t, controller.pods(), 1)
}

// If someone deletes the pod of a Job, the Job fails, and the attempt is lost as a system failure.
func TestDeletingThePodOfAJobLosesTheAttempt(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		if pod.Labels["flyte.org/attempt"] == "1" {
			<-ctx.Done()
			return kubetest.Result{Leave: true}
		}
		return succeeds(ctx, pod)
	}}, withJobs)
	controller := startJobController(t, h.Cluster)
	action, task := h.submit(taskTemplate(asJob))
	h.record.awaitPhase(t, action, 1, state.Running)
	pod := controller.pods()[0]
	remove := []byte(`{"metadata":{"finalizers":null}}`) // the real controller does this once it has counted the pod
	_, err := h.Clientset.CoreV1().Pods(h.Namespace).Patch(t.Context(), pod, "application/merge-patch+json", remove, metav1.PatchOptions{})
	require.NoError(t, err)
	require.NoError(t, h.Clientset.CoreV1().Pods(h.Namespace).Delete(t.Context(), pod, metav1.DeleteOptions{}))
	h.record.awaitPhase(t, action, 2, state.Succeeded)
	h.awaitNothing(task)
	lost := slices.ContainsFunc(h.record.history(action), func(s string) bool { return strings.HasPrefix(s, "1 FAILED") })
	require.True(t, lost)
	require.Len(t, controller.pods(), 2)
}

func TestPluginsAreChosenByTaskTypeAndByTask(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds}, withJobs, func(c *executor.Config) { c.Plugins.TaskTypes = []string{"batch=job"} })
	controller := startJobController(t, h.Cluster)
	batch := func(t *core.TaskTemplate) { t.Type = "batch" }
	asPod := func(t *core.TaskTemplate) { t.Config = map[string]string{"plugin": "pod"} }
	for i, tc := range []struct {
		template *core.TaskTemplate
		jobs     int // created so far
	}{
		{taskTemplate(batch), 1}, {taskTemplate(), 1}, {taskTemplate(batch, asPod), 1}, {taskTemplate(asJob), 2},
	} {
		action, task := h.submit(tc.template)
		h.record.awaitPhase(t, action, 1, state.Succeeded)
		h.awaitNothing(task)
		require.Len(t, controller.pods(), tc.jobs, "task %d", i)
	}
}

func TestATaskForADisabledPluginFailsWithAnExplanation(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds})
	action, task := h.submit(taskTemplate(asJob))
	h.record.awaitPhase(t, action, 1, state.Failed)
	h.awaitNothing(task)
	lost := h.record.last(action).GetError()
	require.Equal(t, "BadTaskSpecification", lost.GetCode())
	require.Contains(t, lost.GetMessage(), `asks for plugin "job", which this installation has not enabled; enabled are: pod`)
	require.Zero(t, h.node.Started())
}
