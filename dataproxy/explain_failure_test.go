package dataproxy_test

import (
	"context"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

var raised = []string{
	"hello", "Traceback (most recent call last):", `  File "/code/././score.py", line 7, in weight`, "    return REGIONS[region]", "KeyError: 'latam'",
}

// broke registers an action whose attempt failed with an error code, and returns where its log is stored.
func (f *fixture) broke(name, code string) string {
	uri := f.logged(name)
	attempt := &workflow.ActionAttempt{Attempt: 1}
	if code != "" {
		attempt.ErrorInfo = &workflow.ErrorInfo{Code: code}
	}
	f.state.details[name] = &workflow.ActionDetails{Id: id(name), Attempts: []*workflow.ActionAttempt{attempt}}
	return uri
}

func (f *fixture) explain(name string, attempt uint32) (*insightv1.ExplainFailureResponse, error) {
	return f.failures.ExplainFailure(f.t.Context(), &insightv1.ExplainFailureRequest{ActionId: id(name), Attempt: attempt})
}

func TestExplainFailureOfAStoredLog(t *testing.T) {
	f := newFixture(t)
	f.seal(f.broke("a", "KeyError"), raised...)
	for _, attempt := range []uint32{0, 1} {
		answer, err := f.explain("a", attempt)
		require.NoError(t, err)
		require.Len(t, answer.GetExceptions(), 1)
		one := answer.GetExceptions()[0]
		require.Equal(t, "KeyError", one.GetType())
		require.Equal(t, "'latam'", one.GetMessage())
		require.EqualValues(t, 1, answer.GetLogLine())
		require.Equal(t, "score.py", one.GetFrames()[0].GetFile())
		require.EqualValues(t, 7, one.GetFrames()[0].GetLine())
		require.True(t, one.GetFrames()[0].GetOwn())
	}
	_, err := f.explain("a", 2)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	_, err = f.failures.ExplainFailure(t.Context(), &insightv1.ExplainFailureRequest{})
	refused(t, err, "action_id")
}

func TestExplainFailureOfAPodThatIsStillThere(t *testing.T) {
	f := newFixture(t)
	f.broke("a", "KeyError")
	f.pods.tail = func(_ context.Context, _ int, _ *enginev1.TailContainerRequest, send func(...string)) error {
		send(raised...)
		return nil
	}
	answer, err := f.explain("a", 0)
	require.NoError(t, err)
	require.Len(t, answer.GetExceptions(), 1)
}

func TestExplainFailureWithoutATraceback(t *testing.T) {
	f := newFixture(t)
	f.seal(f.broke("succeeded", ""), raised...)
	f.seal(f.broke("quiet", "OOMKilled"), "hello")
	f.state.details["no log"] = &workflow.ActionDetails{Id: id("no log"), Attempts: []*workflow.ActionAttempt{{Attempt: 1, ErrorInfo: &workflow.ErrorInfo{}}}}
	f.state.details["never began"] = &workflow.ActionDetails{Id: id("never began")}
	for _, name := range []string{"succeeded", "quiet", "no log", "never began"} {
		answer, err := f.explain(name, 0)
		require.NoError(t, err, name)
		require.Empty(t, answer.GetExceptions(), name)
	}
}

// TestExplainFailureBoundsTheLog: a log of any length costs a bounded time, and the answer says that it is partial.
func TestExplainFailureBoundsTheLog(t *testing.T) {
	f := newFixture(t)
	f.broke("a", "KeyError")
	f.pods.tail = func(ctx context.Context, _ int, _ *enginev1.TailContainerRequest, send func(...string)) error {
		send(raised...)
		for ctx.Err() == nil {
			send(strings.Repeat("x", 1<<20))
		}
		return rpc.Unavailable(ctx.Err(), "gone")
	}
	answer, err := f.explain("a", 0)
	require.NoError(t, err)
	require.True(t, answer.GetPartial())
	require.Len(t, answer.GetExceptions(), 1)
}
