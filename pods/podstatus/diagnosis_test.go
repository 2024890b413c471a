package podstatus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// row is an observation and its diagnosis.
type row struct {
	name   string
	reason failure.Reason
	class  failure.Class
	words  string // part of the message
	got    *failure.Failure
}

func endedWith(code int32, reason, message string) *failure.Failure {
	return ofContainer("primary", &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message})
}

func podWith(reason, message string, conditions ...corev1.PodCondition) *failure.Failure {
	return ofPod(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: message, Conditions: conditions}})
}

func disrupted(reason string) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: "by test"}
}

func waitingWith(reason, message string) *failure.Failure {
	result, _ := ofWaiting("primary", &corev1.ContainerStateWaiting{Reason: reason, Message: message}, podspec.DefaultGrace())
	return result
}

func rows() []row {
	return []row{
		{"out of memory", failure.OOMKilled, failure.User, "more memory than its limit", endedWith(137, "OOMKilled", "")},
		{"exit code", failure.ContainerFailed, failure.User, "exit code 3", endedWith(3, "Error", "Traceback: boom")},
		{"exit code with its last words", failure.ContainerFailed, failure.User, "Traceback: boom", endedWith(1, "Error", "Traceback: boom")},
		{"the SDK's controller does not start", failure.RuntimeNotStarted, failure.System, "before it ran the task's code", endedWith(1, "Error",
			"Traceback (most recent call last):\n  ...\nTimeoutError: Controller thread failed to start in time\n")},
		{"the SDK's controller fails to start", failure.RuntimeNotStarted, failure.System, "no route", endedWith(1, "Error",
			"flyte.errors.RuntimeSystemError: Controller thread startup failed: no route")},
		{"the interpreter crashes when the SDK has given up", failure.RuntimeNotStarted, failure.System, "exit code 134", endedWith(134, "Error",
			"TimeoutError: Controller thread failed to start in time\nFatal Python error: could not acquire lock")},
		{"another error follows", failure.ContainerFailed, failure.User, "exit code 1", endedWith(1, "Error",
			"TimeoutError: Controller thread failed to start in time\nTraceback (most recent call last):\nValueError: mine")},
		{"command not found", failure.ContainerFailed, failure.User, "exit code 127", endedWith(127, "Error", "")},
		{"SIGKILL", failure.Killed, failure.System, "SIGKILL", endedWith(137, "Error", "")},
		{"SIGKILL by its other number", failure.Killed, failure.System, "SIGKILL", endedWith(247, "Error", "")},
		{"SIGTERM", failure.Terminated, failure.System, "SIGTERM", endedWith(143, "Error", "")},
		{"SIGSEGV", failure.SegmentationFault, failure.User, "SIGSEGV", endedWith(139, "Error", "")},
		{"SIGABRT", failure.Signalled, failure.User, "SIGABRT", endedWith(134, "Error", "")},
		{"a number that is not a signal", failure.ContainerFailed, failure.User, "exit code 190", endedWith(190, "Error", "")},
		{"cannot start", failure.StartError, failure.User, "exec: no such file", endedWith(128, "StartError", "exec: no such file")},
		{"cannot run", failure.StartError, failure.User, "check the image", endedWith(127, "ContainerCannotRun", "")},
		{"stopped its supervisor", failure.Signalled, failure.User, "again and again", endedWith(137, "SupervisorStopped", "again and again")},
		{"status unknown", failure.NodeLost, failure.Infra, "lost", endedWith(137, "ContainerStatusUnknown", "")},

		{"evicted", failure.Evicted, failure.System, "low on resource: memory", podWith("Evicted", "The node was low on resource: memory.")},
		{"disk limit", failure.StorageExceeded, failure.User, "ephemeral", podWith("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.")},
		{"deadline", failure.RuntimeExceeded, failure.User, "timeout", podWith("DeadlineExceeded", "Pod was active too long")},
		{"preempting", failure.Preemption, failure.Preempted, "in favour of", podWith("Preempting", "")},
		{"preempted by the scheduler", failure.Preemption, failure.Preempted, "PreemptionByScheduler", podWith("", "", disrupted("PreemptionByScheduler"))},
		{"node shut down", failure.NodeLost, failure.Infra, "shut down", podWith("NodeShutdown", "")},
		{"node shut down, old name", failure.NodeLost, failure.Infra, "shut down", podWith("Shutdown", "")},
		{"node terminated", failure.NodeLost, failure.Infra, "imminent node shutdown", podWith("Terminated", "Pod was terminated in response to imminent node shutdown.")},
		{"kubelet terminates", failure.NodeLost, failure.Infra, "TerminationByKubelet", podWith("Terminated", "", disrupted("TerminationByKubelet"))},
		{"kubelet evicts", failure.Evicted, failure.System, "low on", podWith("Evicted", "low on disk", disrupted("TerminationByKubelet"))},
		{"taint", failure.NodeLost, failure.Infra, "DeletionByTaintManager", podWith("", "", disrupted("DeletionByTaintManager"))},
		{"pod collector", failure.NodeLost, failure.Infra, "DeletionByPodGC", podWith("", "", disrupted("DeletionByPodGC"))},
		{"eviction by API", failure.Evicted, failure.System, "EvictionByEvictionAPI", podWith("", "", disrupted("EvictionByEvictionAPI"))},
		{"refused by node", failure.NodeRefused, failure.Infra, "refused", podWith("OutOfcpu", "")},
		{"admission", failure.NodeRefused, failure.Infra, "refused", podWith("UnexpectedAdmissionError", "")},
		{"nothing known of the pod", "", 0, "", podWith("", "")},

		{"image", failure.ImagePullBackOff, failure.User, "not found", waitingWith("ImagePullBackOff", "manifest not found")},
		{"image, first try", failure.ImagePullBackOff, failure.User, "could not be pulled", waitingWith("ErrImagePull", "")},
		{"registry does not answer", failure.ImageRegistryBusy, failure.System, "i/o timeout", waitingWith("ErrImagePull", "dial tcp: i/o timeout")},
		{"registry is broken", failure.ImageRegistryBusy, failure.System, "503", waitingWith("ImagePullBackOff", "unexpected status: 503 Service Unavailable")},
		{"registry limits", failure.ImageRegistryBusy, failure.System, "429", waitingWith("ImagePullBackOff", "429 Too Many Requests")},
		{"the registry's name is wrong", failure.ImagePullBackOff, failure.User, "no such host", waitingWith("ErrImagePull", "dial tcp: lookup registry.exmaple: no such host")},
		{"the pod's own hook fails", failure.CreateContainerError, failure.User, "hook", waitingWith("PostStartHookError", "hook exited with 1")},
		{"image name", failure.InvalidImageName, failure.User, "not valid", waitingWith("InvalidImageName", "")},
		{"image must be there", failure.ImageNeverPull, failure.User, "forbids", waitingWith("ErrImageNeverPull", "")},
		{"container cannot be created", failure.CreateContainerError, failure.User, "could not be created", waitingWith("CreateContainerError", "")},
		{"secret missing", failure.CreateContainerConfig, failure.User, "secret \"x\" not found", waitingWith("CreateContainerConfigError", "secret \"x\" not found")},
		{"secret unread", failure.ContainerStuck, failure.System, "secret cache", waitingWith("CreateContainerConfigError", "failed to sync secret cache: timed out waiting for the condition")},
		{"unknown reason", failure.ContainerStuck, failure.System, "Mystery", waitingWith("Mystery", "")},
		{"port is taken", failure.PortTaken, failure.User, "by pod n/other", waitingWith("PortTaken", "port 8080 is taken by pod n/other")},
		{"creating", "", 0, "", waitingWith("ContainerCreating", "")},
		{"initialising", "", 0, "", waitingWith("PodInitializing", "")},
	}
}

func TestEveryObservation(t *testing.T) {
	for _, tc := range rows() {
		t.Run(tc.name, func(t *testing.T) {
			if tc.reason == "" {
				require.Nil(t, tc.got)
				return
			}
			require.NotNil(t, tc.got)
			require.Equal(t, tc.reason, tc.got.Reason)
			require.Equal(t, tc.class, tc.got.Class, "class %s", tc.got.Class)
			require.Contains(t, tc.got.Message, tc.words)
			require.NotEmpty(t, tc.got.Code)
			kind := core.ExecutionError_SYSTEM
			if tc.class == failure.User && tc.got.Origin != core.ExecutionError_SYSTEM {
				kind = core.ExecutionError_USER
			}
			require.Equal(t, kind, tc.got.Proto().GetKind())
		})
	}
}

// elsewhere are the reasons that the reconciler and other packages report, whose tests produce them.
func elsewhere() []failure.Reason {
	return []failure.Reason{
		failure.UnknownError, failure.DeletedExternally, failure.UnexpectedDeletion, failure.PrimaryContainerNotFound,
		failure.BadTaskSpecification, failure.OutputsMissing, failure.ErrorUnreadable, failure.MaxSystemFailuresExceeded,
		failure.CopilotFailed, failure.ObjectRefused, failure.ObjectForbidden, failure.ObjectTooLarge, failure.TaskFailed,
		failure.DeadlineExceeded, failure.QueuedTooLong, failure.PodNotAllowed,
		failure.SecretMissing, failure.SecretUnusable, failure.NoRoom, failure.NotListening, failure.WorkerLost, failure.WorkerOOM, failure.OperatorMissing,
		failure.OperatorFailed, failure.GangFailed, failure.JobNotStarted, failure.JobFailed, failure.JobAborted, failure.JobLost,
		failure.ClusterLost, failure.ClusterDrained,
	}
}

func TestTableIsClosed(t *testing.T) {
	produced := map[failure.Reason]bool{}
	for _, tc := range rows() {
		produced[tc.reason] = true
	}
	for _, reason := range elsewhere() {
		produced[reason] = true
	}
	for reason, row := range failure.Table() {
		require.True(t, produced[reason], "no observation leads to %s", reason)
		require.NotZero(t, row.Class, reason)
		require.NotEmpty(t, row.Words, reason)
	}
	require.Len(t, failure.Table(), len(produced)-1, "every reason has a row") // without ""
}

func TestGraceIsByReason(t *testing.T) {
	grace := podspec.Grace{ImagePull: time.Minute, Create: 2 * time.Minute, Config: 3 * time.Minute, Other: 4 * time.Minute}
	for reason, want := range map[string]time.Duration{
		"ImagePullBackOff": time.Minute, "CreateContainerError": 2 * time.Minute, "CreateContainerConfigError": 3 * time.Minute,
		"InvalidImageName": 0, "ErrImageNeverPull": 0, "Whatever": 4 * time.Minute,
	} {
		_, got := ofWaiting("c", &corev1.ContainerStateWaiting{Reason: reason}, grace)
		require.Equal(t, want, got, reason)
	}
}
