//go:build failpoints

package runs_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// What people say in the crash test of answers.
const (
	saidValue, saidComment = "yes", "as discussed"
	answered               = `SELECT count(*) FROM actions WHERE name = 'ask' AND signal IS NOT NULL`
	answeredWhole          = `SELECT count(*) FROM actions WHERE name = 'ask' AND phase = 5 AND position('as discussed' in encode(signal, 'escape')) > 0`
	answerEvents           = `SELECT count(*) FROM action_events e JOIN actions a ON a.id = e.action_id WHERE a.name = 'ask' AND e.phase = 5`
)

// TestACrashWhileAConditionIsAnswered: a process is killed before or after it commits an answer with a comment, before its caller learns
// of it. Value, comment, phase and event are all there or none is, and the caller may give the same answer again.
func TestACrashWhileAConditionIsAnswered(t *testing.T) {
	for point, left := range map[string]int{"writer.before-commit 1": 0, "writer.after-commit 1": 1} {
		t.Run(point, func(t *testing.T) {
			db := pgtest.New(t, store.Migrations())
			t.Run("before", func(t *testing.T) {
				c := writeFixtureWith(t, db, nil, func(*runs.Deps) {})
				c.create(namedRun("r"))
				require.Zero(t, c.record(condition("r", "ask", core.SimpleType_STRING)))
				require.Eventually(t, func() bool {
					return countOf(t, db, `SELECT count(*) FROM actions WHERE name = 'a0' AND admitted_at IS NOT NULL`) == 1
				}, time.Minute, 20*time.Millisecond, "nothing else is left to write")
			})
			dies(t, db, "TestTheProcessThatDiesWhileItAnswers", point, func() {
				require.Equal(t, left, countOf(t, db, answered))
				require.Equal(t, left, countOf(t, db, answeredWhole))
				require.Equal(t, left, countOf(t, db, answerEvents))
			})
			require.Equal(t, 1, countOf(t, db, answeredWhole))
			require.Equal(t, 1, countOf(t, db, answerEvents), "it is answered once")
		})
	}
}

// TestTheProcessThatDiesWhileItAnswers answers, and gives the same answer again.
func TestTheProcessThatDiesWhileItAnswers(t *testing.T) {
	c := writeFixtureWith(t, dying(t), nil, func(*runs.Deps) {})
	for range 2 {
		require.Zero(t, c.say("r", "ask", saidValue, saidComment))
	}
	require.Equal(t, connect.CodeFailedPrecondition, c.say("r", "ask", saidValue, "something else"), "a comment would be lost")
	require.Equal(t, connect.CodeFailedPrecondition, c.say("r", "ask", "no", saidComment))
	found := c.listConditions(&insightv1.ListConditionsRequest{RunId: runID("r")}).GetConditions()
	require.Len(t, found, 1)
	require.Equal(t, saidComment, found[0].GetAnswer().GetComment())
}
