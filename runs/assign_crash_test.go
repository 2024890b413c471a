//go:build failpoints

package runs_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

const (
	assigned     = `SELECT count(*) FROM condition_assignees c JOIN actions a ON a.id = c.action_id WHERE a.name = 'ask'`
	assignedAda  = assigned + ` AND c.subject = 'ada' AND c.name = 'Ada' AND c.assigned_by = 'ada'`
	waitsForSome = `SELECT count(*) FROM actions WHERE name = 'ask' AND phase = 9`
)

// TestACrashWhileAConditionIsAssigned: a process is killed before or after it commits who is asked, before its caller learns of it. The
// person is asked whole or not at all, the condition keeps waiting, and the caller may ask again.
func TestACrashWhileAConditionIsAssigned(t *testing.T) {
	for point, left := range map[string]int{
		"assign.before-commit 1": 0, // the first time
		"assign.after-commit 1":  1,
		"assign.before-commit 2": 1, // the same again
		"assign.after-commit 2":  1,
		"assign.before-commit 3": 1, // no one in particular
		"assign.after-commit 3":  0,
	} {
		t.Run(point, func(t *testing.T) {
			db := pgtest.New(t, store.Migrations())
			t.Run("before", func(t *testing.T) {
				c := writeFixtureWith(t, db, nil, func(*runs.Deps) {})
				c.create(namedRun("r"))
				require.Zero(t, c.record(condition("r", "ask", core.SimpleType_STRING)))
			})
			dies(t, db, "TestTheProcessThatDiesWhileItAssigns", point, func() {
				require.Equal(t, left, countOf(t, db, assigned))
				require.Equal(t, left, countOf(t, db, assignedAda))
				require.Equal(t, 1, countOf(t, db, waitsForSome))
			})
			require.Equal(t, 1, countOf(t, db, assignedAda), "it stays with the answer")
			require.Zero(t, countOf(t, db, waitsForSome))
		})
	}
}

// TestTheProcessThatDiesWhileItAssigns asks a person, the same person again, and no one. Then the condition is assigned and answered.
func TestTheProcessThatDiesWhileItAssigns(t *testing.T) {
	c := writeFixtureWith(t, dying(t), nil, func(*runs.Deps) {})
	mine := func() uint32 {
		t.Helper()
		answer, err := c.insight.ListPausedActions(ada(t.Context()), &insightv1.ListPausedActionsRequest{Mine: true})
		require.NoError(t, err)
		return answer.GetTotal()
	}
	for _, subject := range []string{"ada", "ada", ""} {
		require.Zero(t, c.assign("r", "ask", subject))
	}
	require.Zero(t, mine())
	require.Zero(t, c.assign("r", "ask", "ada"))
	require.EqualValues(t, 1, mine())
	require.Zero(t, c.say("r", "ask", saidValue, saidComment))
	require.Zero(t, mine())
	require.Equal(t, connect.CodeFailedPrecondition, c.assign("r", "ask", ""), "what is answered keeps who was asked")
}
