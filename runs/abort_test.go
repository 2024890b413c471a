package runs_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

func (c *writeFixture) events() (n int) {
	c.t.Helper()
	require.NoError(c.t, c.pool.QueryRow(c.t.Context(), `SELECT count(*) FROM action_events`).Scan(&n))
	return n
}

// tree is a run with a subtree of which a part has finished.
func (c *writeFixture) tree(run string) {
	c.t.Helper()
	c.create(namedRun(run))
	c.child(run, "a0", "mid")
	c.child(run, "a0", "side")
	c.child(run, "mid", "leaf")
	c.child(run, "mid", "done")
	c.child(run, "leaf", "deep")
	request := condition(run, "approve", core.SimpleType_STRING)
	request.Parent = "mid"
	require.Zero(c.t, c.record(request))
	c.report(transition(run, "leaf", 1, running), transition(run, "done", 1, succeeded))
}

func TestAnAbortRecordsWhoAndWhyInItsSubtree(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.tree("r")
	ada := authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.User, Subject: "ada"})
	bob := authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.User, Subject: "bob"})
	_, err := c.runs.AbortAction(ada, &workflow.AbortActionRequest{ActionId: actionID("r", "mid"), Reason: "too late"})
	require.NoError(t, err)
	for _, name := range []string{"mid", "leaf", "deep", "approve"} {
		details := c.details("r", name)
		require.Equal(t, aborted, details.GetStatus().GetPhase(), name)
		require.Equal(t, "too late", details.GetAbortInfo().GetReason(), name)
		require.Equal(t, "ada", details.GetAbortInfo().GetAbortedBy().GetUser().GetId().GetSubject(), name)
		require.NotNil(t, details.GetStatus().GetEndTime(), name)
	}
	require.Equal(t, succeeded, c.phase("r", "done"), "a finished action stays as it is")
	require.Equal(t, queued, c.phase("r", "side"))
	require.Equal(t, queued, c.phase("r", "a0"))

	before := c.events()
	_, err = c.runs.AbortAction(bob, &workflow.AbortActionRequest{ActionId: actionID("r", "mid"), Reason: "again"})
	require.NoError(t, err)
	require.Equal(t, before, c.events(), "the second changes nothing")
	require.Equal(t, "too late", c.details("r", "mid").GetAbortInfo().GetReason())
	require.Equal(t, connect.CodeAborted, c.record(childTask("r", "mid", "new")))
	c.report(transition("r", "leaf", 1, succeeded), transition("r", "mid", 2, running))
	require.Equal(t, aborted, c.phase("r", "leaf"), "a late report of its process")
	require.Equal(t, aborted, c.phase("r", "mid"))

	_, err = c.runs.AbortRun(bob, &workflow.AbortRunRequest{RunId: runID("r")})
	require.NoError(t, err)
	for _, name := range []string{"a0", "side"} {
		require.Equal(t, "bob", c.details("r", name).GetAbortInfo().GetAbortedBy().GetUser().GetId().GetSubject(), name)
		require.NotEmpty(t, c.details("r", name).GetAbortInfo().GetReason(), name)
	}
	require.Equal(t, "ada", c.details("r", "leaf").GetAbortInfo().GetAbortedBy().GetUser().GetId().GetSubject())
	before = c.events()
	_, err = c.runs.AbortRun(ada, &workflow.AbortRunRequest{RunId: runID("r")})
	require.NoError(t, err)
	require.Equal(t, before, c.events())
	require.Equal(t, connect.CodeAborted, c.record(childTask("r", "a0", "new")))
	require.Equal(t, connect.CodeAborted, c.record(childTask("r", "mid", "leaf")), "the run is over")
}

func TestUnfinishedChildrenOfATerminalParentAreAborted(t *testing.T) {
	for name, end := range map[string]common.ActionPhase{
		"failed": failed, "succeeded": succeeded, "timed out": common.ActionPhase_ACTION_PHASE_TIMED_OUT,
	} {
		t.Run(name, func(t *testing.T) {
			c := newWriteFixture(t, nil)
			c.tree("r")
			c.report(transition("r", "mid", 1, end))
			for _, child := range []string{"leaf", "deep", "approve"} {
				info := c.details("r", child).GetAbortInfo()
				require.Contains(t, info.GetReason(), "mid", child)
				require.Contains(t, info.GetReason(), end.String()[len("ACTION_PHASE_"):], child)
				require.Nil(t, info.GetAbortedBy(), "no user did")
			}
			require.Equal(t, succeeded, c.phase("r", "done"))
			require.Equal(t, queued, c.phase("r", "side"))
		})
	}
}

// A client without an identity may say for whom it acts; one with an identity acts for itself.
func TestNobodyAbortsInTheNameOfOthers(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.tree("r")
	eve := &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_User{User: &common.User{Id: &common.UserIdentifier{Subject: "eve"}}}}
	as := func(identity authz.Identity, action string) string {
		_, err := c.internal.UpdateActionStatus(authz.WithIdentity(t.Context(), identity), &workflow.UpdateActionStatusRequest{
			ActionId: actionID("r", action), Principal: eve, Status: &workflow.ActionStatus{Phase: aborted, Attempts: 1},
		})
		require.NoError(t, err)
		return c.details("r", action).GetAbortInfo().GetAbortedBy().GetUser().GetId().GetSubject()
	}
	require.Equal(t, "ada", as(authz.Identity{Kind: authz.User, Subject: "ada"}, "deep"))
	require.Equal(t, "eve", as(authz.Identity{Kind: authz.Service, Subject: "internal"}, "leaf"))
	require.Equal(t, "eve", as(authz.Identity{}, "side"))
}
