package failure_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

func TestReportedErrorsAreUserFailuresWhateverTheirOrigin(t *testing.T) {
	for _, origin := range []core.ExecutionError_ErrorKind{core.ExecutionError_USER, core.ExecutionError_SYSTEM} {
		got := failure.FromTask(&core.ContainerError{Code: "E", Message: "no network", Kind: core.ContainerError_RECOVERABLE, Origin: origin}, false)
		require.Equal(t, failure.TaskFailed, got.Reason)
		require.Equal(t, failure.User, got.Class)
		require.Equal(t, "no network", got.Message)
		require.True(t, got.Recoverable)
		require.Equal(t, origin, got.Proto().GetKind())
	}
}

// A co-pilot whose sidecar had not started within two minutes on a busy machine failed a task that has no retries.
func TestWhatTheCopilotLosesIsNotTheTasksFailure(t *testing.T) {
	got := failure.FromTask(&core.ContainerError{
		Code: "CopilotFailed", Message: "co-pilot: the sidecar is not listening", Kind: core.ContainerError_RECOVERABLE, Origin: core.ExecutionError_SYSTEM,
	}, true)
	require.Equal(t, failure.CopilotFailed, got.Reason)
	require.Equal(t, failure.System, got.Class)
	require.True(t, got.Recoverable)
	require.Contains(t, got.Message, "the sidecar is not listening")

	missing := failure.FromTask(&core.ContainerError{Code: "OutputMissing", Kind: core.ContainerError_RECOVERABLE, Origin: core.ExecutionError_USER}, true)
	require.Equal(t, failure.User, missing.Class, "what the container left out is its own failure")
}

// A task could have its own failure repeated as one of the system, by an error that only the co-pilot reports.
func TestOnlyTheCopilotSpeaksForItself(t *testing.T) {
	imitated := failure.FromTask(&core.ContainerError{Code: "CopilotFailed", Message: "mine", Origin: core.ExecutionError_SYSTEM}, false)
	require.Equal(t, failure.User, imitated.Class)
	require.Equal(t, "CopilotFailed", imitated.Code)
}

func TestTimeLimitsHaveTheirOwnMessages(t *testing.T) {
	for _, reason := range []failure.Reason{failure.RuntimeExceeded, failure.DeadlineExceeded, failure.QueuedTooLong} {
		got := failure.OverTime(reason, "a limit of 1m")
		require.True(t, got.TimedOut())
		require.Equal(t, failure.User, got.Class)
		require.Equal(t, "a limit of 1m", got.Message)
	}
	require.False(t, failure.New(failure.Killed, "").TimedOut())
}

func TestFailuresAreFoundInErrors(t *testing.T) {
	lost := failure.New(failure.BadTaskSpecification, "no image")
	require.Same(t, lost, failure.Of(fmt.Errorf("build pod: %w", lost)))
	require.ErrorContains(t, lost, "BadTaskSpecification")
	require.Nil(t, failure.Of(errors.New("connection refused")))
	require.Nil(t, failure.Of(nil))
}

func TestCodesThatTheSDKKnows(t *testing.T) {
	require.Contains(t, string(failure.OOMKilled), "OOM")
	require.Equal(t, "ImagePullBackOff", string(failure.ImagePullBackOff))
	require.Equal(t, "InvalidImageName", string(failure.InvalidImageName))
	require.Equal(t, "PrimaryContainerNotFound", string(failure.PrimaryContainerNotFound))
	require.Equal(t, "Interrupted", string(failure.Terminated))
}

func TestTheTaskDecidesRecoverability(t *testing.T) {
	final := failure.FromTask(&core.ContainerError{Code: "E", Kind: core.ContainerError_NON_RECOVERABLE}, false)
	require.False(t, final.Recoverable)
	require.Equal(t, core.ContainerError_NON_RECOVERABLE, final.Proto().GetRecoverability())
	unnamed := failure.FromTask(&core.ContainerError{}, false)
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
