package backlog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/backlog"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// TestUses: what is left is what the next runs are allowed.
func TestUses(t *testing.T) {
	b, counter, clk := newBacklog(backlog.Config{WaitingRuns: 10, CallerActions: 3})
	counter.underWay["p"] = worklists.UnderWay{WaitingRuns: 7, Actions: 50}
	counter.underWay["of ada"] = worklists.UnderWay{Actions: 1}
	uses := func() []backlog.Use {
		found, err := b.Uses(t.Context(), "p", "ada")
		require.NoError(t, err)
		return found
	}
	want := func(caller, waiting int) []backlog.Use {
		return []backlog.Use{
			{Things: "unfinished actions", Setting: "runs.backlog.callerActions", Most: 3, Used: caller},
			{Things: "waiting runs", Project: "p", Setting: "runs.backlog.waitingRuns", Most: 10, Used: waiting},
			{Things: "unfinished actions", Project: "p", Setting: "runs.backlog.actions"},
		}
	}
	require.Equal(t, want(1, 7), uses())
	require.NoError(t, b.Enter(t.Context(), "p", "ada"))
	require.NoError(t, b.Enter(t.Context(), "p", "ada"))
	require.Equal(t, want(3, 9), uses(), "what was created since counts")
	requireFull(t, b.Enter(t.Context(), "p", "ada"), "the runs of ada")
	require.Equal(t, []string{"caller actions"}, counter.refused)
	require.Equal(t, 2, counter.counts, "the same second")

	clk.Step(time.Second)
	counter.underWay["p"] = worklists.UnderWay{WaitingRuns: 40}
	counter.underWay["of ada"] = worklists.UnderWay{}
	require.Equal(t, want(0, 10), uses(), "counted again, up to the limit")
	none, err := b.Uses(t.Context(), "", "")
	require.NoError(t, err)
	require.Empty(t, none)

	clk.Step(time.Second)
	counter.err = errors.New("no database")
	_, err = b.Uses(t.Context(), "", "ada")
	require.ErrorIs(t, err, counter.err)
}

// TestUsesWithoutALimitCountNothing: counts read all runs that are under way.
func TestUsesWithoutALimitCountNothing(t *testing.T) {
	b, counter, _ := newBacklog(backlog.Config{})
	uses, err := b.Uses(t.Context(), "p", "ada")
	require.NoError(t, err)
	require.Len(t, uses, 3)
	require.Zero(t, counter.counts)
}
