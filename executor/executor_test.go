package executor_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/executor"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// Story R31: each action wrote its object nine times and carried its whole history in it.
func TestActionRunsToItsEnd(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{
		Program: succeeds,
		Log: func(_, container string) string {
			return "2026-01-02T03:04:05.000000006Z hello from " + container + "\n"
		},
	})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitGone(task)

	history := h.record.history(action)
	require.Equal(t, []string{"1 RUNNING", "1 SUCCEEDED"}, history[len(history)-2:])
	end := h.record.last(action).GetEvent()
	dir := blobpath.AttemptDir(task.Spec.RunOutputBase, "a0", 1)
	require.Equal(t, dir+"/outputs.pb", end.GetOutputs().GetOutputUri())
	pod := end.GetLogContext().GetPods()[0]
	require.Equal(t, v1.PodName(task.Name, 1), pod.GetPodName())
	require.Equal(t, "primary", pod.GetPrimaryContainerName())
	require.NotNil(t, pod.GetContainers()[0].GetProcess().GetContainerEndTime())

	sealed, err := os.ReadFile(blobpath.SealedLog(dir, "", "primary"))
	require.NoError(t, err)
	require.Equal(t, "2026-01-02T03:04:05.000000006Z hello from primary\n", string(sealed))

	require.Equal(t, 1, h.node.Started())
	require.EqualValues(t, 1, h.finished.Load())
	writes := h.counter.Writes("taskactions") + 2 // its owner's creation and deletion
	require.LessOrEqual(t, writes, 4, h.counter.Snapshot())
	require.Equal(t, 2, h.counter.Writes("pods"), "created and deleted once: %v", h.counter.Snapshot())
}

// A crash of the interpreter at exit, after the task has returned, does not undo the success.
func TestOutputsCountMoreThanTheExitCode(t *testing.T) {
	crashesAtExit := func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		result := succeeds(ctx, pod)
		result.ExitCode = 134 // SIGABRT
		return result
	}
	h := newHarness(t, kubetest.NodeOptions{Program: crashesAtExit})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitGone(task)
	require.Nil(t, h.record.last(action).GetError())
	require.NotEmpty(t, h.record.last(action).GetEvent().GetOutputs().GetOutputUri())
}

func TestTimesOfAnActionNeverGoBack(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds})
	action, _ := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	var last time.Time
	for _, transition := range h.record.events(action) {
		when := transition.GetEvent().GetUpdatedTime().AsTime()
		require.False(t, when.Before(last))
		require.WithinDuration(t, time.Now(), when, waitLimit)
		last = when
	}
}

func TestTaskWithoutOutputsMayWriteNone(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{SkipRunning: true})
	action, task := h.submit(taskTemplate(withoutOutputs))
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitGone(task)
	_, err := os.Stat(blobpath.AttemptDir(task.Spec.RunOutputBase, "a0", 1) + "/" + blobpath.ErrorFile)
	require.ErrorIs(t, err, os.ErrNotExist, "the executor writes no error document of its own")
	require.Contains(t, h.record.history(action), "1 RUNNING", "a missed start is reported with the end")
}

func TestMissingOutputsAreRetriedThenExplained(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{SkipRunning: true})
	action, task := h.submit(taskTemplate(withRetries(1)))
	h.record.awaitPhase(t, action, 2, state.Failed)
	h.awaitGone(task)
	failed := h.record.last(action).GetError()
	require.Equal(t, core.ExecutionError_USER, failed.GetKind(), "the process ended by itself, as by sys.exit(0)")
	require.Equal(t, "OutputsMissing", failed.GetCode())
	require.Contains(t, failed.GetMessage(), "ended by itself with exit code 0 before the task returned")
	require.Equal(t, 2, h.node.Started(), "one attempt and the task's own retry, and none of the system's")
}

// Story R18: attempts that were retried vanished, with their errors, logs and end times.
func TestRecoverableErrorConsumesRetries(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{
		SkipRunning: true,
		Program:     fails("ValueError", "it is odd", core.ContainerError_RECOVERABLE, core.ExecutionError_USER),
	})
	action, task := h.submit(taskTemplate(withRetries(2)))
	h.record.awaitPhase(t, action, 3, state.Failed)
	h.awaitGone(task)
	require.Equal(t, []string{
		"1 RUNNING", "1 FAILED", "2 QUEUED", "2 RUNNING", "2 FAILED", "3 QUEUED", "3 RUNNING", "3 FAILED",
	}, withoutPhases(h.record.history(action), "INITIALIZING", "WAITING_FOR_RESOURCES"))
	failed := h.record.last(action).GetError()
	require.Equal(t, "ValueError", failed.GetCode())
	require.Equal(t, "it is odd", failed.GetMessage())
	require.Equal(t, core.ExecutionError_USER, failed.GetKind())
	require.Equal(t, core.ContainerError_RECOVERABLE, failed.GetRecoverability())
	h.requirePairsAreAtomic()
}

// A failure that is committed, but not in the status yet when the executor dies, is judged again by its successor. The
// verdict is the same, so it is counted once, against the right budget.
func TestAFailureIsCountedOnceWhateverIsLost(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{
		SkipRunning: true,
		Program:     fails("ValueError", "it is odd", core.ContainerError_RECOVERABLE, core.ExecutionError_USER),
	})
	h.mute.Store(true)
	action, task := h.submit(taskTemplate(withRetries(1)))
	h.record.awaitPhase(t, action, 2, state.Queued)
	require.Eventually(t, func() bool { return h.muted.Load() > 4 }, waitLimit, time.Millisecond, "it is retried")
	h.stop(h.service)
	require.Len(t, h.pods(), 1, "the pod of the first attempt shows how it ended")
	h.mute.Store(false)
	h.start()
	h.record.awaitPhase(t, action, 2, state.Failed)
	h.awaitGone(task)
	require.Equal(t, 2, h.node.Started(), "one attempt and one retry")
	require.Equal(t, core.ExecutionError_USER, h.record.last(action).GetError().GetKind())
}

func TestUnrecoverableErrorFailsAtOnce(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{
		Program: fails("Fatal", "no", core.ContainerError_NON_RECOVERABLE, core.ExecutionError_USER),
	})
	action, task := h.submit(taskTemplate(withRetries(5)))
	h.record.awaitPhase(t, action, 1, state.Failed)
	h.awaitGone(task)
	require.Equal(t, core.ContainerError_NON_RECOVERABLE, h.record.last(action).GetError().GetRecoverability())
	require.Equal(t, 1, h.node.Started())
}

// Story R12: quota, throttling and preemption used up the retries that a task had declared for its own errors.
func TestSystemFaultsLeaveTheTasksRetriesAlone(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: func(_ context.Context, pod *corev1.Pod) kubetest.Result {
		switch pod.Labels["flyte.org/attempt"] {
		case "1", "2":
			return kubetest.Result{ExitCode: 137} // killed from outside
		default:
			return succeeds(context.Background(), pod)
		}
	}})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 3, state.Succeeded)
	h.awaitGone(task)
	h.requirePairsAreAtomic()
}

func TestAttemptsSeeTheirNumberAndTheirDirectory(t *testing.T) {
	numbers := make(chan string, 10)
	h := newHarness(t, kubetest.NodeOptions{Program: func(_ context.Context, pod *corev1.Pod) kubetest.Result {
		for _, variable := range pod.Spec.Containers[0].Env {
			if variable.Name == "FLYTE_ATTEMPT_NUMBER" {
				numbers <- variable.Value + " " + outputDir(pod)
			}
		}
		return kubetest.Result{ExitCode: 1}
	}})
	action, task := h.submit(taskTemplate(withRetries(1)))
	h.record.awaitPhase(t, action, 2, state.Failed)
	require.Equal(t, "0 "+blobpath.AttemptDir(task.Spec.RunOutputBase, "a0", 1), <-numbers)
	require.Equal(t, "1 "+blobpath.AttemptDir(task.Spec.RunOutputBase, "a0", 2), <-numbers)
}

// Story R4: the database said ABORTED while the pod kept running, and finished runs became ABORTED after a laptop had slept.
func TestDeletedTaskActionStopsItsPod(t *testing.T) {
	stopped := make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, _ *corev1.Pod) kubetest.Result {
		<-ctx.Done()
		close(stopped)
		return kubetest.Result{Leave: true}
	}})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	require.NoError(t, h.Client.Delete(context.Background(), task))
	h.awaitGone(task)
	<-stopped
	require.Equal(t, "1 RUNNING", h.record.history(action)[len(h.record.history(action))-1], "an abort reports nothing")
}

// An abort stops the process of an action even if the executor cannot reach the cluster at that time, or does not run.
func TestAbortDuringAnOutageStopsThePodWhenItEnds(t *testing.T) {
	for name, outage := range map[string]func(h *harness) (end func()){
		"the cluster is unreachable": func(h *harness) func() {
			h.cut.Store(true)
			return func() { h.cut.Store(false) }
		},
		"the executor is down": func(h *harness) func() {
			h.stop(h.service)
			return h.start
		},
	} {
		t.Run(name, func(t *testing.T) {
			stopped := make(chan struct{})
			h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, _ *corev1.Pod) kubetest.Result {
				<-ctx.Done()
				close(stopped)
				return kubetest.Result{Leave: true}
			}})
			action, task := h.submit(taskTemplate())
			h.record.awaitPhase(t, action, 1, state.Running)
			end := outage(h)
			h.record.end(action, state.Aborted)
			require.NoError(t, h.Client.Delete(context.Background(), task))
			end()
			h.awaitGone(task)
			<-stopped
			require.Equal(t, 1, h.node.Started())
		})
	}
}

// Story R1: a run that no page showed was reconciled for 17 days, and its pod was recreated each time someone
// deleted it.
func TestTaskActionOfATerminalActionIsDeleted(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, _ *corev1.Pod) kubetest.Result {
		<-ctx.Done()
		return kubetest.Result{Leave: true}
	}}, func(c *executor.Config) { c.Reconciler.Resync = 100 * time.Millisecond })
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	h.record.end(action, state.Aborted)
	h.awaitGone(task)
}

func TestTaskActionOfAnUnknownActionIsDeleted(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds})
	_, task := h.submit(taskTemplate())
	stranger := task.DeepCopy()
	stranger.ObjectMeta = metav1.ObjectMeta{Namespace: task.Namespace, Name: "stranger", Labels: task.Labels}
	stranger.Spec.Run = "never-recorded"
	require.NoError(t, h.Client.Create(context.Background(), stranger))
	h.awaitGone(stranger)
}

func TestRestartMidwayMakesNoSecondPod(t *testing.T) {
	release := make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		<-release
		return succeeds(ctx, pod)
	}})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	h.stop(h.service)
	h.start()
	close(release)
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitGone(task)
	require.Equal(t, 1, h.node.Started())
}

// Story R26: garbage collection wrote ABORTED over successes and killed children that still ran.
func TestRestartAfterTheEndMakesNoSecondPod(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, _ *corev1.Pod) kubetest.Result {
		<-ctx.Done()
		return kubetest.Result{Leave: true}
	}})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	h.stop(h.service)
	// The terminal phase is committed and the pod is gone, but the TaskAction still exists.
	h.record.end(action, state.Succeeded)
	require.NoError(t, h.Clientset.CoreV1().Pods(h.Namespace).Delete(context.Background(), h.pods()[0].Name, metav1.DeleteOptions{}))
	h.awaitPods(0)
	h.start()
	h.awaitGone(task)
	require.Equal(t, 1, h.node.Started())
}

func TestOutageOfTheRunsServiceIsRiddenOut(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: succeeds}, func(c *executor.Config) {
		c.Reconciler.ErrorBackoff, c.Reconciler.MaxErrorBackoff = 10*time.Millisecond, 50*time.Millisecond
	})
	warm, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, warm, 1, state.Succeeded)
	h.awaitGone(task)
	h.record.setDown(true)
	first, one := h.submit(taskTemplate())
	second, two := h.submit(taskTemplate())
	require.Eventually(t, func() bool { return h.node.Started() == 3 }, waitLimit, 5*time.Millisecond, "work continues")
	h.record.setDown(false)
	for _, action := range []struct {
		task *v1.TaskAction
	}{{one}, {two}} {
		h.awaitGone(action.task)
	}
	h.record.awaitPhase(t, first, 1, state.Succeeded)
	h.record.awaitPhase(t, second, 1, state.Succeeded)
	require.Equal(t, 3, h.node.Started())
}

// Story R2: a pod that was still terminating was recreated under its name twelve times a second, rejected creations
// used up the quota, and the rejection counted as the user's error.
func TestPodThatDisappearsIsALostAttempt(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		if pod.Labels["flyte.org/attempt"] == "1" {
			<-ctx.Done()
			return kubetest.Result{Leave: true}
		}
		return succeeds(ctx, pod)
	}})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	require.NoError(t, h.Clientset.CoreV1().Pods(h.Namespace).Delete(context.Background(), v1.PodName(task.Name, 1), metav1.DeleteOptions{}))
	h.record.awaitPhase(t, action, 2, state.Succeeded)
	var lost *core.ExecutionError
	for _, transition := range h.record.events(action) {
		if transition.GetError() != nil {
			lost = transition.GetError()
		}
	}
	require.Equal(t, core.ExecutionError_SYSTEM, lost.GetKind())
	require.Equal(t, "ResourceDeletedExternally", lost.GetCode())
	h.awaitGone(task)
}

func TestInvalidTaskFailsWithAnExplanation(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{})
	action, task := h.submit(&core.TaskTemplate{Type: "python"})
	h.record.awaitPhase(t, action, 1, state.Failed)
	h.awaitGone(task)
	failed := h.record.last(action)
	require.Equal(t, "BadTaskSpecification", failed.GetError().GetCode())
	require.Contains(t, failed.GetEvent().GetErrorInfo().GetMessage(), "requires a container or a pod")

	action, task = h.submit(taskTemplate(func(t *core.TaskTemplate) {
		t.GetContainer().Ports = []*core.ContainerPort{{Name: "Not A Port", ContainerPort: 1}}
	}))
	h.record.awaitPhase(t, action, 1, state.Failed)
	h.awaitGone(task)
	failed = h.record.last(action)
	require.Equal(t, "PodRefused", failed.GetError().GetCode())
	require.Contains(t, failed.GetError().GetMessage(), "Not A Port", "in the API server's words")
}

func TestUnschedulablePodWaitsWithTheSchedulersMessage(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{SkipBinding: true, SkipRunning: true, Program: func(context.Context, *corev1.Pod) kubetest.Result {
		return kubetest.Result{Leave: true}
	}})
	action, _ := h.submit(taskTemplate())
	pod := h.awaitPods(1)[0]
	require.NoError(t, kubetest.PatchPodStatus(context.Background(), h.Clientset, &pod, corev1.PodStatus{
		Phase: corev1.PodPending,
		Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes have enough memory",
		}},
	}))
	h.record.await(t, "the scheduler's message is recorded", func() bool {
		events := h.record.last(action).GetEvent().GetClusterEvents()
		return len(events) == 1 && events[0].GetMessage() == "0/3 nodes have enough memory" && events[0].GetReason() == "Unschedulable"
	})
	h.record.awaitPhase(t, action, 1, state.WaitingForResources)

	// A new message is reported, although the phase is the same.
	require.NoError(t, kubetest.PatchPodStatus(context.Background(), h.Clientset, &pod, corev1.PodStatus{
		Phase: corev1.PodPending,
		Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/4 nodes have enough memory",
		}},
	}))
	h.record.await(t, "the new message is recorded", func() bool {
		events := h.record.last(action).GetEvent().GetClusterEvents()
		return len(events) == 1 && events[0].GetMessage() == "0/4 nodes have enough memory"
	})
}

// Story R19: timeouts, backoff, queues, overwriting of the cache, recovery and webhooks were accepted and ignored.
func TestTimeoutEndsTheAttempt(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, _ *corev1.Pod) kubetest.Result {
		<-ctx.Done()
		return kubetest.Result{Leave: true}
	}})
	action, task := h.submit(taskTemplate(func(t *core.TaskTemplate) {
		t.Metadata = &core.TaskMetadata{Timeout: durationOf(time.Second)}
	}))
	h.record.awaitPhase(t, action, 1, state.TimedOut)
	h.awaitGone(task)
	require.Equal(t, "MAX_RUNTIME_EXCEEDED", h.record.last(action).GetError().GetCode())
}

// Story R31: each action wrote its object nine times and carried its whole history in it.
func TestLongActionWritesItsStatusOnce(t *testing.T) {
	release := make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		<-release
		return succeeds(ctx, pod)
	}}, func(c *executor.Config) { c.Reconciler.StatusDelay = 50 * time.Millisecond })
	action, task := h.submit(taskTemplate())
	require.Eventually(t, func() bool {
		read := &v1.TaskAction{}
		require.NoError(t, h.Client.Get(context.Background(), client.ObjectKeyFromObject(task), read))
		return read.Status.Phase == "RUNNING" && read.Status.Attempt == 1 && read.Status.ObjectUID != ""
	}, waitLimit, 10*time.Millisecond)
	close(release)
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitGone(task)
	require.LessOrEqual(t, h.counter.Writes("taskactions")+1, 4, h.counter.Snapshot())
}

func TestOutageOfTheClusterIsRiddenOut(t *testing.T) {
	release := make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		<-release
		return succeeds(ctx, pod)
	}})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	h.cut.Store(true)
	later, another := h.submit(taskTemplate())
	close(release)
	h.record.awaitPhase(t, action, 1, state.Succeeded) // its open watches still work
	h.cut.Store(false)
	h.record.awaitPhase(t, later, 1, state.Succeeded)
	h.awaitGone(task)
	h.awaitGone(another)
	require.Equal(t, 2, h.node.Started())
}

// A server that is killed in a fan-out has deleted TaskActions whose pods it was about to delete.
func TestPodsWithoutATaskActionAreSwept(t *testing.T) {
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, _ *corev1.Pod) kubetest.Result {
		<-ctx.Done()
		return kubetest.Result{Leave: true}
	}})
	action, task := h.submit(taskTemplate())
	h.record.awaitPhase(t, action, 1, state.Running)
	h.stop(h.service)
	require.NoError(t, h.Client.Delete(context.Background(), task))
	_, err := h.Clientset.CoreV1().Pods(h.Namespace).Create(context.Background(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	h.start()
	require.Equal(t, "theirs", h.awaitPods(1)[0].Name)
}
