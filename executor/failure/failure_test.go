package failure_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// row is an observation and what becomes of it.
type row struct {
	name   string
	reason failure.Reason
	class  failure.Class
	words  string // part of the message
	got    *failure.Failure
}

func ended(code int32, reason, message string) *failure.Failure {
	return failure.OfContainer("primary", &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message})
}

func pod(reason, message string, conditions ...corev1.PodCondition) *failure.Failure {
	return failure.OfPod(&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: reason, Message: message, Conditions: conditions}})
}

func disrupted(reason string) corev1.PodCondition {
	return corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: "by test"}
}

func waiting(reason, message string) *failure.Failure {
	result, _ := failure.OfWaiting("primary", &corev1.ContainerStateWaiting{Reason: reason, Message: message}, failure.DefaultGrace())
	return result
}

func refused(err error) *failure.Failure { return failure.OfCreate(err) }

func rows() []row {
	pods := schema.GroupResource{Resource: "pods"}
	return []row{
		{"out of memory", failure.OOMKilled, failure.User, "more memory than its limit", ended(137, "OOMKilled", "")},
		{"exit code", failure.ContainerFailed, failure.User, "exit code 3", ended(3, "Error", "Traceback: boom")},
		{"exit code with its last words", failure.ContainerFailed, failure.User, "Traceback: boom", ended(1, "Error", "Traceback: boom")},
		{"command not found", failure.ContainerFailed, failure.User, "exit code 127", ended(127, "Error", "")},
		{"SIGKILL", failure.Killed, failure.System, "SIGKILL", ended(137, "Error", "")},
		{"SIGKILL by its other number", failure.Killed, failure.System, "SIGKILL", ended(247, "Error", "")},
		{"SIGTERM", failure.Terminated, failure.System, "SIGTERM", ended(143, "Error", "")},
		{"SIGSEGV", failure.SegmentationFault, failure.User, "SIGSEGV", ended(139, "Error", "")},
		{"SIGABRT", failure.Signalled, failure.User, "SIGABRT", ended(134, "Error", "")},
		{"a number that is no signal", failure.ContainerFailed, failure.User, "exit code 190", ended(190, "Error", "")},
		{"cannot start", failure.StartError, failure.User, "exec: no such file", ended(128, "StartError", "exec: no such file")},
		{"cannot run", failure.StartError, failure.User, "check the image", ended(127, "ContainerCannotRun", "")},
		{"status unknown", failure.NodeLost, failure.Infra, "lost", ended(137, "ContainerStatusUnknown", "")},

		{"evicted", failure.Evicted, failure.System, "low on resource: memory", pod("Evicted", "The node was low on resource: memory.")},
		{"disk limit", failure.StorageExceeded, failure.User, "ephemeral", pod("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.")},
		{"deadline", failure.RuntimeExceeded, failure.User, "timeout", pod("DeadlineExceeded", "Pod was active too long")},
		{"preempting", failure.Preemption, failure.Preempted, "in favour of", pod("Preempting", "")},
		{"preempted by the scheduler", failure.Preemption, failure.Preempted, "PreemptionByScheduler", pod("", "", disrupted("PreemptionByScheduler"))},
		{"node shut down", failure.NodeLost, failure.Infra, "shut down", pod("NodeShutdown", "")},
		{"node shut down, old name", failure.NodeLost, failure.Infra, "shut down", pod("Shutdown", "")},
		{"node terminated", failure.NodeLost, failure.Infra, "imminent node shutdown", pod("Terminated", "Pod was terminated in response to imminent node shutdown.")},
		{"kubelet terminates", failure.NodeLost, failure.Infra, "TerminationByKubelet", pod("Terminated", "", disrupted("TerminationByKubelet"))},
		{"kubelet evicts", failure.Evicted, failure.System, "low on", pod("Evicted", "low on disk", disrupted("TerminationByKubelet"))},
		{"taint", failure.NodeLost, failure.Infra, "DeletionByTaintManager", pod("", "", disrupted("DeletionByTaintManager"))},
		{"pod collector", failure.NodeLost, failure.Infra, "DeletionByPodGC", pod("", "", disrupted("DeletionByPodGC"))},
		{"eviction by API", failure.Evicted, failure.System, "EvictionByEvictionAPI", pod("", "", disrupted("EvictionByEvictionAPI"))},
		{"refused by node", failure.NodeRefused, failure.Infra, "refused", pod("OutOfcpu", "")},
		{"admission", failure.NodeRefused, failure.Infra, "refused", pod("UnexpectedAdmissionError", "")},
		{"nothing known of the pod", "", 0, "", pod("", "")},

		{"image", failure.ImagePullBackOff, failure.User, "not found", waiting("ImagePullBackOff", "manifest not found")},
		{"image, first try", failure.ImagePullBackOff, failure.User, "could not be pulled", waiting("ErrImagePull", "")},
		{"registry does not answer", failure.ImageRegistryBusy, failure.System, "i/o timeout", waiting("ErrImagePull", "dial tcp: i/o timeout")},
		{"registry is broken", failure.ImageRegistryBusy, failure.System, "503", waiting("ImagePullBackOff", "unexpected status: 503 Service Unavailable")},
		{"deadline of the action", failure.DeadlineExceeded, failure.User, "1m", failure.OverTime(failure.DeadlineExceeded, "a deadline of 1m")},
		{"queued timeout", failure.QueuedTooLong, failure.User, "1m", failure.OverTime(failure.QueuedTooLong, "a queued timeout of 1m")},
		{"registry limits", failure.ImageRegistryBusy, failure.System, "429", waiting("ImagePullBackOff", "429 Too Many Requests")},
		{"image name", failure.InvalidImageName, failure.User, "not valid", waiting("InvalidImageName", "")},
		{"image must be there", failure.ImageNeverPull, failure.User, "forbids", waiting("ErrImageNeverPull", "")},
		{"container cannot be created", failure.CreateContainerError, failure.User, "could not be created", waiting("CreateContainerError", "")},
		{"secret missing", failure.CreateContainerConfig, failure.User, "secret \"x\" not found", waiting("CreateContainerConfigError", "secret \"x\" not found")},
		{"unknown reason", failure.ContainerStuck, failure.System, "Mystery", waiting("Mystery", "")},
		{"creating", "", 0, "", waiting("ContainerCreating", "")},
		{"initialising", "", 0, "", waiting("PodInitializing", "")},

		{"invalid pod", failure.PodRefused, failure.User, "invalid", refused(apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "p", nil))},
		{"webhook", failure.PodRefused, failure.User, "denied", refused(apierrors.NewBadRequest("admission webhook denied the request"))},
		{"too large", failure.PodTooLarge, failure.User, "too large", refused(apierrors.NewRequestEntityTooLargeError("limit is 3145728"))},
		{"forbidden", failure.PodForbidden, failure.User, "forbids", refused(apierrors.NewForbidden(pods, "p", errors.New("violates PodSecurity")))},
		{"quota", "", 0, "", refused(apierrors.NewForbidden(pods, "p", errors.New("exceeded quota: q")))},
		{"API server is down", "", 0, "", refused(apierrors.NewInternalError(errors.New("etcd")))},
		{"connection refused", "", 0, "", refused(errors.New("connect: connection refused"))},

		{"task says so", failure.TaskFailed, failure.User, "it is odd", failure.FromTask(&core.ContainerError{
			Code: "ValueError", Message: "it is odd", Kind: core.ContainerError_RECOVERABLE, Origin: core.ExecutionError_USER,
		})},
		{"task blames the system", failure.TaskFailed, failure.User, "no network", failure.FromTask(&core.ContainerError{
			Code: "SystemError", Message: "no network", Kind: core.ContainerError_RECOVERABLE, Origin: core.ExecutionError_SYSTEM,
		})},
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

// reported by the reconciler and the pod plugin, whose tests produce them.
func elsewhere() []failure.Reason {
	return []failure.Reason{
		failure.UnknownError, failure.DeletedExternally, failure.UnexpectedDeletion, failure.PrimaryContainerNotFound,
		failure.BadTaskSpecification, failure.OutputsMissing, failure.ErrorUnreadable, failure.MaxSystemFailuresExceeded,
		failure.CopilotFailed,
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

func TestCodesThatTheSDKKnows(t *testing.T) {
	require.Contains(t, string(failure.OOMKilled), "OOM")
	require.Equal(t, "ImagePullBackOff", string(failure.ImagePullBackOff))
	require.Equal(t, "InvalidImageName", string(failure.InvalidImageName))
	require.Equal(t, "PrimaryContainerNotFound", string(failure.PrimaryContainerNotFound))
	require.Equal(t, "Interrupted", string(failure.Terminated))
}

func TestRecoverabilityIsTheTasksWord(t *testing.T) {
	final := failure.FromTask(&core.ContainerError{Code: "E", Kind: core.ContainerError_NON_RECOVERABLE})
	require.False(t, final.Recoverable)
	require.Equal(t, core.ContainerError_NON_RECOVERABLE, final.Proto().GetRecoverability())
	unnamed := failure.FromTask(&core.ContainerError{})
	require.NotEmpty(t, unnamed.Code)
	require.NotEmpty(t, unnamed.Message)
}

func TestGivenUpKeepsTheLastReason(t *testing.T) {
	given := failure.New(failure.NodeLost, "node-7").GivenUp(4)
	require.False(t, given.Recoverable)
	require.Equal(t, "MaxSystemFailuresExceeded|NodeLost", given.Code)
	require.Contains(t, given.Message, "node-7")
	require.Contains(t, given.Message, "(4)")
}

func TestLongMessagesKeepTheirEnds(t *testing.T) {
	text := "first" + strings.Repeat("é", 1<<20) + "last"
	message := failure.New(failure.ContainerFailed, "%s", text).Message
	require.Less(t, len(message), 20<<10)
	require.Contains(t, message, "first")
	require.True(t, strings.HasSuffix(message, "last"))
}

func TestGraceIsByReason(t *testing.T) {
	grace := failure.Grace{ImagePull: time.Minute, Create: 2 * time.Minute, Config: 3 * time.Minute, Other: 4 * time.Minute}
	for reason, want := range map[string]time.Duration{
		"ImagePullBackOff": time.Minute, "CreateContainerError": 2 * time.Minute, "CreateContainerConfigError": 3 * time.Minute,
		"InvalidImageName": 0, "ErrImageNeverPull": 0, "Whatever": 4 * time.Minute,
	} {
		_, got := failure.OfWaiting("c", &corev1.ContainerStateWaiting{Reason: reason}, grace)
		require.Equal(t, want, got, reason)
	}
}
