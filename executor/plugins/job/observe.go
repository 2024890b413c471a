package job

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// controllerPause is how long a Job may go without a pod before that is reported.
const controllerPause = time.Second

// observe returns the state of an attempt from its Job and the pod of the Job. The pod decides as long as there is one.
func (p *Plugin) observe(ctx context.Context, attempt *plugin.Attempt, job *batchv1.Job) (plugin.State, error) {
	pod, err := p.podOf(ctx, attempt, job)
	if err != nil {
		return plugin.State{}, err
	}
	var state plugin.State
	if pod != nil {
		member, err := p.pods.Of(ctx, attempt, pod)
		if err != nil {
			return plugin.State{}, err
		}
		state = member.State
	} else {
		state = p.withoutPod(job)
	}
	if pod != nil && !ended(job) {
		awaitController(&state, job)
	}
	if state.Reason == reasonSuspended {
		why, err := kueue.Why(ctx, p.live, job)
		if err != nil {
			return plugin.State{}, err
		}
		if why != "" {
			state.Message = sentence.Say("the Job is suspended: %s", why)
		}
		state.Recheck = kueue.Recheck
	}
	state.Object = job.UID
	state.Stopping = state.Stopping || job.DeletionTimestamp != nil
	return state, nil
}

// awaitController corrects the state of a pod that the Job is going to replace: a suspended Job, as by a queue that
// preempts it, deletes its pod and creates another one when it is resumed. Only a Job that has failed makes the deletion
// of its pod final.
func awaitController(state *plugin.State, job *batchv1.Job) {
	deleted := state.Failure != nil && state.Failure.Reason == failure.UnexpectedDeletion
	switch {
	case suspended(job) && (state.Failure == nil || deleted) && state.Phase != common.ActionPhase_ACTION_PHASE_SUCCEEDED:
		waitSuspended(state)
	case deleted:
		state.Phase, state.Failure = common.ActionPhase_ACTION_PHASE_RUNNING, nil
		state.Reason, state.Message = "PodDeleted", sentence.Say("the pod was deleted; waiting for the Job controller to settle the Job")
	}
}

// withoutPod returns the state of a Job whose pod does not exist: not yet, or no longer.
func (p *Plugin) withoutPod(job *batchv1.Job) plugin.State {
	state := plugin.State{Phase: common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES}
	age := p.clock.Now().Sub(job.CreationTimestamp.Time)
	failed := conditionOf(job, batchv1.JobFailed, batchv1.JobFailureTarget)
	switch {
	case conditionOf(job, batchv1.JobComplete, batchv1.JobSuccessCriteriaMet) != nil:
		state.Phase = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	case failed != nil && failed.Reason == batchv1.JobReasonDeadlineExceeded:
		state.Fail(failure.New(failure.RuntimeExceeded, "job %s: %s", job.Name, failed.Message))
	case failed != nil:
		state.Fail(failure.New(failure.DeletedExternally, "job %s has failed without its pod: %s: %s", job.Name, failed.Reason, failed.Message))
	case suspended(job):
		waitSuspended(&state)
	case age < controllerPause:
		state.Phase, state.Recheck = common.ActionPhase_ACTION_PHASE_QUEUED, controllerPause-max(age, 0)
	default:
		state.Reason = "Pending"
		state.Message = sentence.Say("job %s waits for the Job controller to create its pod; the events of the Job say why it does not", job.Name)
	}
	return state
}

// reasonSuspended is the reason of a Job that waits for its queue.
const reasonSuspended = "JobSuspended"

func waitSuspended(state *plugin.State) {
	state.Phase, state.Failure, state.Paused = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, nil, true
	state.Reason, state.Message = reasonSuspended, sentence.Say("the Job is suspended until its queue admits it")
}

// podOf returns the pod of a Job; nil when there is none. When the Job has ended, the API server has the last word on that:
// the caches of Jobs and pods are independent, and the end of a pod must not be mistaken for its absence.
func (p *Plugin) podOf(ctx context.Context, attempt *plugin.Attempt, job *batchv1.Job) (*corev1.Pod, error) {
	pods, err := p.pods.Cached(ctx, attempt)
	if err != nil {
		return nil, err
	}
	if pod := latest(pods, job); pod != nil || !ended(job) {
		return pod, nil
	}
	if pods, err = p.pods.Live(ctx, attempt); err != nil {
		return nil, err
	}
	return latest(pods, job), nil
}

// latest returns the pod that the Job created last: those before it have ended.
func latest(pods []corev1.Pod, job *batchv1.Job) *corev1.Pod {
	var last *corev1.Pod
	for i := range pods {
		pod := &pods[i]
		if metav1.IsControlledBy(pod, job) && (last == nil || last.CreationTimestamp.Before(&pod.CreationTimestamp)) {
			last = pod
		}
	}
	return last
}

// ended reports whether the Job controller has settled the Job, or is about to: it creates no more pods.
func ended(job *batchv1.Job) bool {
	return conditionOf(job, batchv1.JobComplete, batchv1.JobSuccessCriteriaMet, batchv1.JobFailed, batchv1.JobFailureTarget) != nil
}

func suspended(job *batchv1.Job) bool { return job.Spec.Suspend != nil && *job.Spec.Suspend }

// conditionOf returns the first true condition of any of these types.
func conditionOf(job *batchv1.Job, kinds ...batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		for _, kind := range kinds {
			if condition := &job.Status.Conditions[i]; condition.Type == kind && condition.Status == corev1.ConditionTrue {
				return condition
			}
		}
	}
	return nil
}
