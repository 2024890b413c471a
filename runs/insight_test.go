package runs_test

import (
	"context"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// draws follows the snapshot of a run until it is complete, and returns what came and where to resume.
func (c *writeFixture) draws(request *insightv1.WatchRunActionsRequest) (start *insightv1.SnapshotStart, names []string, next *insightv1.WatchRunActionsRequest) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	stream, err := c.insight.WatchRunActions(ctx, request)
	require.NoError(c.t, err)
	next = &insightv1.WatchRunActionsRequest{RunId: request.GetRunId(), Strings: request.GetStrings()}
	for next.GetCursor() == 0 && stream.Receive() {
		if begin := stream.Msg().GetStart(); begin != nil {
			if start = begin; !begin.GetResumed() {
				next.Strings = 0
			}
		}
		names = append(names, stream.Msg().GetActions().GetNames()...)
		next.Strings += uint32(len(stream.Msg().GetActions().GetStrings()))
		next.Cursor = stream.Msg().GetCaughtUp().GetCursor()
	}
	require.NotNil(c.t, start)
	require.Positive(c.t, next.GetCursor())
	return start, names, next
}

func TestPictureOverARestart(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	c.child("r1", "a0", "x")
	c.child("r1", "a0", "y")
	start, names, next := c.draws(&insightv1.WatchRunActionsRequest{RunId: runID("r1")})
	require.False(t, start.GetResumed())
	require.Equal(t, []string{"a0", "x", "y"}, names)

	require.NoError(t, c.service.Stop(t.Context()))
	again := writeFixtureOn(t, c.pool, nil)
	again.report(transition("r1", "y", 1, running))
	again.child("r1", "y", "z")
	start, names, next = again.draws(next)
	require.True(t, start.GetResumed())
	require.EqualValues(t, 4, start.GetTotalActions())
	require.Equal(t, []string{"y", "z"}, names)
	_, names, _ = again.draws(next)
	require.Empty(t, names, "the same request again")
	// The database was restored to a time before what the client has seen.
	next.Cursor += 1000
	start, names, _ = again.draws(next)
	require.False(t, start.GetResumed())
	require.Len(t, names, 4)
}

func TestPictureRefuses(t *testing.T) {
	c := newWriteFixture(t, nil)
	ask := func(request *insightv1.WatchRunActionsRequest) error {
		stream, err := c.insight.WatchRunActions(t.Context(), request)
		require.NoError(t, err)
		for stream.Receive() {
		}
		return stream.Err()
	}
	refused(t, ask(&insightv1.WatchRunActionsRequest{RunId: runID("none")}), connect.CodeNotFound, "none")
	refused(t, ask(&insightv1.WatchRunActionsRequest{}), connect.CodeInvalidArgument, "run_id")
	refused(t, ask(&insightv1.WatchRunActionsRequest{RunId: runID("none"), Cursor: -1}), connect.CodeInvalidArgument, "cursor")
}

// denying denies everything and records what was asked for.
type denying map[string]bool

func (d denying) Authorise(_ context.Context, _ authz.Identity, rule authz.Rule, _ authz.Resource) (authz.Scope, error) {
	d[rule.Action] = true
	return authz.Scope{}, rpc.PermissionDenied("you may not")
}

func TestInsightIsAuthorised(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	asked := denying{}
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{Authoriser: asked}))
	c.service.Mount(mux)
	server := httptest.NewServer(mux) // calls of the process itself are not asked about
	t.Cleanup(server.Close)
	client := insightv1connect.NewInsightServiceClient(server.Client(), server.URL)
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"transitions": func() error {
			_, err := client.ListTransitions(ctx, &insightv1.ListTransitionsRequest{RunId: runID("r1"), Numbers: []uint32{0}})
			return err
		},
		"descriptions": func() error {
			_, err := client.DescribeActions(ctx, &insightv1.DescribeActionsRequest{RunId: runID("r1"), Numbers: []uint32{0}})
			return err
		},
		"errors": func() error {
			_, err := client.ListErrors(ctx, &insightv1.ListErrorsRequest{RunId: runID("r1")})
			return err
		},
		"data flow": func() error {
			_, err := client.ListDataFlow(ctx, &insightv1.ListDataFlowRequest{ActionId: actionID("r1", "a0")})
			return err
		},
		"picture": func() error {
			stream, err := client.WatchRunActions(ctx, &insightv1.WatchRunActionsRequest{RunId: runID("r1")})
			require.NoError(t, err)
			require.False(t, stream.Receive())
			return stream.Err()
		},
	} {
		t.Run(name, func(t *testing.T) { refused(t, call(), connect.CodePermissionDenied, "you may not") })
	}
	require.Equal(t, "action.view data.view run.view", strings.Join(slices.Sorted(maps.Keys(asked)), " "))
}
