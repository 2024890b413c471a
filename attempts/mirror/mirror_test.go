package mirror_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/attempts/mirror"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// engine sends the same messages at once on each stream, and then nothing.
type engine struct {
	enginev1connect.UnimplementedEngineServiceHandler
	messages []*enginev1.WatchAssignmentsResponse
}

func (e *engine) WatchAssignments(ctx context.Context, _ *enginev1.WatchAssignmentsRequest, to *connect.ServerStream[enginev1.WatchAssignmentsResponse]) error {
	for _, message := range e.messages {
		if err := to.Send(message); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

func (e *engine) GetAssignments(_ context.Context, r *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error) {
	answer := &enginev1.GetAssignmentsResponse{}
	for _, uid := range r.GetUids() {
		answer.Assignments = append(answer.Assignments, &enginev1.Assignment{Ref: &enginev1.ActionRef{Uid: uid}, Attempt: 2, Cluster: "west"})
	}
	return answer, nil
}

// rows are those of a runner. The first write is slow, so that what comes meanwhile is one batch.
type rows struct {
	attempts map[int64]uint32
	slow     time.Duration
	wrote    chan struct{}
}

func (r *rows) Unreleased(context.Context) (uids []int64, err error) {
	time.Sleep(r.slow) //nolint:forbidigo // what comes meanwhile is what the test is about
	for uid := range r.attempts {
		uids = append(uids, uid)
	}
	return uids, nil
}

func (r *rows) Offer(_ context.Context, assigned []*enginev1.Assignment) error {
	for _, a := range assigned {
		r.attempts[a.GetRef().GetUid()] = a.GetAttempt()
	}
	return nil
}

func (r *rows) Release(_ context.Context, uids []int64) error {
	for _, uid := range uids {
		delete(r.attempts, uid)
	}
	if slices.Contains(uids, last) {
		close(r.wrote)
	}
	return nil
}

// last is an action whose release ends each test.
const last = 99

func live(refs ...*enginev1.ActionRef) *enginev1.WatchAssignmentsResponse {
	return &enginev1.WatchAssignmentsResponse{Message: &enginev1.WatchAssignmentsResponse_Live{Live: &enginev1.LiveActions{Refs: refs}}}
}

func sentinel() *enginev1.WatchAssignmentsResponse {
	return &enginev1.WatchAssignmentsResponse{Message: &enginev1.WatchAssignmentsResponse_Sentinel{Sentinel: &enginev1.Sentinel{}}}
}

func assignment(uid int64, attempt uint32) *enginev1.WatchAssignmentsResponse {
	return &enginev1.WatchAssignmentsResponse{Message: &enginev1.WatchAssignmentsResponse_Assignment{Assignment: &enginev1.Assignment{
		Ref: &enginev1.ActionRef{Uid: uid}, Attempt: attempt,
	}}}
}

func release(uid int64) *enginev1.WatchAssignmentsResponse {
	return &enginev1.WatchAssignmentsResponse{Message: &enginev1.WatchAssignmentsResponse_Release{Release: &enginev1.Release{Ref: &enginev1.ActionRef{Uid: uid}}}}
}

// follow has a mirror follow the messages, and returns the attempts of its rows at the end.
func follow(t *testing.T, attempts map[int64]uint32, messages ...*enginev1.WatchAssignmentsResponse) map[int64]uint32 {
	t.Helper()
	_, handler := enginev1connect.NewEngineServiceHandler(&engine{messages: append(messages, release(last))})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	r := &rows{attempts: attempts, slow: 200 * time.Millisecond, wrote: make(chan struct{})}
	m := mirror.Mirror{
		Engine: enginev1connect.NewEngineServiceClient(http.DefaultClient, server.URL), Runner: enginev1.Runner_RUNNER_POOL, Rows: r,
		Stream: stream.Client[enginev1.WatchAssignmentsResponse]{MaxSilence: time.Minute, Clock: clock.System{}},
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Work(ctx) }()
	select {
	case <-r.wrote:
	case <-time.After(30 * time.Second):
		t.Error("the last release did not come")
	}
	stop()
	require.NoError(t, <-ended)
	return r.attempts
}

// TestAnActionThatIsTakenBackIsOfferedAgain: the release of the attempt that was taken back from a cluster, and the assignment of the
// next one, may come in one batch.
func TestAnActionThatIsTakenBackIsOfferedAgain(t *testing.T) {
	found := follow(t, map[int64]uint32{}, sentinel(), assignment(1, 1), assignment(2, 1), release(1), assignment(1, 2), release(2))
	require.Equal(t, map[int64]uint32{1: 2}, found)
}

// TestAnActionMovesWhileTheStreamIsDown: the snapshot has an action that is known, but was taken back meanwhile.
func TestAnActionMovesWhileTheStreamIsDown(t *testing.T) {
	found := follow(t, map[int64]uint32{1: 1, 2: 1, 3: 1}, live(&enginev1.ActionRef{Uid: 1, Placement: 1}, &enginev1.ActionRef{Uid: 2}), sentinel())
	require.Equal(t, map[int64]uint32{1: 2, 2: 1}, found, "what is not taken back stays, and what has ended goes")
}
