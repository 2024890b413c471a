package runs_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

func (c *writeFixture) fails(run, action string, err *core.ExecutionError) {
	c.t.Helper()
	c.child(run, "a0", action)
	end := transition(run, action, 1, failed)
	end.Error = err
	c.report(transition(run, action, 1, running), end)
}

func (c *writeFixture) errors(run string, limit uint32) *insightv1.ListErrorsResponse {
	c.t.Helper()
	response, err := c.insight.ListErrors(c.t.Context(), &insightv1.ListErrorsRequest{RunId: runID(run), Limit: limit})
	require.NoError(c.t, err)
	return response
}

func TestListErrors(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	c.create(namedRun("r2"))
	require.Empty(t, c.errors("r1", 0).GetGroups())
	c.fails("r1", "first", executionError("ValueError", "row 17 of 'a.csv' is bad\n"+strings.Repeat("long ", 4000)))
	c.fails("r1", "other", &core.ExecutionError{Code: "OOMKilled", Message: "out of memory", Kind: core.ExecutionError_SYSTEM})
	for i := range 22 {
		c.fails("r1", fmt.Sprintf("more%d", i), executionError("ValueError", fmt.Sprintf("row %d of 'b.csv' is bad\nlong", i)))
	}
	c.fails("r1", "silent", nil)
	c.fails("r2", "elsewhere", executionError("ValueError", "row 17 of 'a.csv' is bad"))
	c.child("r1", "a0", "fine")

	answer := c.errors("r1", 0)
	require.Equal(t, []any{uint32(25), uint32(4), false}, []any{answer.GetTotal(), answer.GetTotalGroups(), answer.GetTruncated()})
	var got []string
	for _, group := range answer.GetGroups() {
		require.True(t, group.GetFirstAt().IsValid())
		got = append(got, fmt.Sprintf("%s %s %d %s %d", group.GetCode(), group.GetKind(), group.GetCount(), group.GetFirstAction(), len(group.GetActions())))
	}
	require.Equal(t, []string{"ValueError USER 1 first 0", "OOMKilled SYSTEM 1 other 0", "ValueError USER 22 more0 20", "Unknown  1 silent 0"}, got)
	require.Len(t, answer.GetGroups()[0].GetMessage(), 8<<10)
	require.Equal(t, "more1", answer.GetGroups()[2].GetActions()[0])
	require.NotEmpty(t, answer.GetGroups()[3].GetMessage(), "there is always something to show")

	few := c.errors("r1", 2)
	require.Len(t, few.GetGroups(), 2)
	require.Equal(t, []uint32{25, 4}, []uint32{few.GetTotal(), few.GetTotalGroups()})

	ask := func(request *insightv1.ListErrorsRequest) error {
		_, err := c.insight.ListErrors(t.Context(), request)
		return err
	}
	refused(t, ask(&insightv1.ListErrorsRequest{RunId: runID("none")}), connect.CodeNotFound, "none")
	refused(t, ask(&insightv1.ListErrorsRequest{RunId: runID("r1"), Limit: 101}), connect.CodeInvalidArgument, "limit")
	refused(t, ask(&insightv1.ListErrorsRequest{}), connect.CodeInvalidArgument, "run_id")
}

// A parent that fails with the error of its child is counted apart, and is in no group.
func TestErrorsOfParents(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	c.fails("r1", "shard7", executionError("KeyError", "'latam'"))
	c.fails("r1", "shard9", executionError("KeyError", "'emea'"))
	root := transition("r1", "a0", 1, failed)
	root.Error = executionError("KeyError", "'latam'")
	root.Error.Worker = "the parent's pod"
	c.report(transition("r1", "a0", 1, running), root)
	answer := c.errors("r1", 0)
	require.Equal(t, []uint32{3, 1, 1}, []uint32{answer.GetTotal(), answer.GetInherited(), answer.GetTotalGroups()})
	group := answer.GetGroups()[0]
	require.Equal(t, []any{"shard7", uint32(2), []string{"shard9"}}, []any{group.GetFirstAction(), group.GetCount(), group.GetActions()})
}

// Reading stops at a limit; the total is still right.
func TestEachFailureIsBounded(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	for i := range 5 {
		c.fails("r1", fmt.Sprintf("c%d", i), executionError("E", "no"))
	}
	reader := lists.NewReader(c.pool)
	var id int64
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT run_id FROM actions LIMIT 1`).Scan(&id))
	var names []string
	total, err := reader.EachFailure(t.Context(), id, 3, func(f lists.Failure) { names = append(names, f.Name) })
	require.NoError(t, err)
	require.Equal(t, 5, total)
	require.Equal(t, []string{"c0", "c1", "c2"}, names)
}
