package backlog_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/backlog"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// projects counts how often it was asked, and has the answers.
type projects struct {
	underWay map[string]worklists.UnderWay
	err      error
	counts   int
	refused  []string // the labels of the limits that refused
}

func (p *projects) UnderWay(_ context.Context, project string, _, _ int) (worklists.UnderWay, error) {
	p.counts++
	return p.underWay[project], p.err
}

func (p *projects) UnderWayOf(_ context.Context, caller string, _ int) (worklists.UnderWay, error) {
	p.counts++
	return p.underWay["of "+caller], p.err
}

func newBacklog(config backlog.Config) (*backlog.Backlog, *projects, *clock.Fake) {
	counter := &projects{underWay: map[string]worklists.UnderWay{}}
	clk := clock.NewFake(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
	return backlog.New(config, counter, clk, func(_ context.Context, limit string) { counter.refused = append(counter.refused, limit) }), counter, clk
}

func requireFull(t *testing.T, err error, words ...string) {
	t.Helper()
	var reached *rpc.Error
	require.ErrorAs(t, err, &reached)
	require.Equal(t, rpc.KindResourceExhausted, reached.Kind)
	require.Positive(t, reached.RetryAfter)
	for _, word := range words {
		require.Contains(t, reached.Message, word)
	}
}

func TestRunsAreRefusedWhileTooManyWait(t *testing.T) {
	b, counter, clk := newBacklog(backlog.Config{WaitingRuns: 10})
	counter.underWay["p"] = worklists.UnderWay{WaitingRuns: 7}
	for range 3 {
		require.NoError(t, b.Enter(t.Context(), "p", "ada"))
	}
	for range 100 {
		requireFull(t, b.Enter(t.Context(), "p", "ada"), "project p has 10 runs that wait to start", "runs.backlog.waitingRuns", "try again in 5s")
	}
	require.Equal(t, 1, counter.counts, "refusals of the same second count once")
	require.NoError(t, b.Enter(t.Context(), "other", "ada"), "each project has its own")

	clk.Step(time.Second)
	counter.underWay["p"] = worklists.UnderWay{WaitingRuns: 9}
	require.NoError(t, b.Enter(t.Context(), "p", "ada"), "one has started")
	requireFull(t, b.Enter(t.Context(), "p", "ada"))
}

func TestProjectsFarFromTheirLimitAreRarelyCounted(t *testing.T) {
	b, counter, clk := newBacklog(backlog.Config{WaitingRuns: 10_000})
	for range 90 {
		require.NoError(t, b.Enter(t.Context(), "p", "ada"))
		clk.Step(100 * time.Millisecond)
	}
	require.Equal(t, 1, counter.counts)
	clk.Step(time.Second)
	require.NoError(t, b.Enter(t.Context(), "p", "ada"))
	require.Equal(t, 2, counter.counts, "other processes create runs too")
}

func TestRunsAreRefusedWhileTooManyActionsAreUnfinished(t *testing.T) {
	b, counter, _ := newBacklog(backlog.Config{Actions: 5})
	counter.underWay["p"] = worklists.UnderWay{WaitingRuns: 100, Actions: 4}
	require.NoError(t, b.Enter(t.Context(), "p", "ada"))
	requireFull(t, b.Enter(t.Context(), "p", "ada"), "project p has 5 unfinished actions", "runs.backlog.actions")
}

func TestRunsOfACallerAreRefusedWhileTooManyOfItsActionsAreUnfinished(t *testing.T) {
	b, counter, clk := newBacklog(backlog.Config{CallerActions: 5})
	counter.underWay["of ada"] = worklists.UnderWay{Actions: 4}
	require.NoError(t, b.Enter(t.Context(), "p", "ada"))
	requireFull(t, b.Enter(t.Context(), "other", "ada"), "the runs of ada have 5 unfinished actions", "runs.backlog.callerActions", "try again in 5s")
	require.NoError(t, b.Enter(t.Context(), "p", "bob"), "each caller has its own")
	require.NoError(t, b.Enter(t.Context(), "p", ""), "and one without a name has none")
	require.Equal(t, 2, counter.counts)
	clk.Step(time.Second)
	counter.underWay["of ada"] = worklists.UnderWay{Actions: 3}
	require.NoError(t, b.Enter(t.Context(), "p", "ada"), "some have ended")
}

func TestWithoutLimitsNothingIsCounted(t *testing.T) {
	b, counter, _ := newBacklog(backlog.Config{})
	require.NoError(t, b.Enter(t.Context(), "p", "ada"))
	require.Zero(t, counter.counts)
}

func TestACountThatFailsIsRepeated(t *testing.T) {
	b, counter, _ := newBacklog(backlog.Config{WaitingRuns: 1})
	counter.err = errors.New("the database does not answer")
	require.ErrorIs(t, b.Enter(t.Context(), "p", "ada"), counter.err)
	counter.err = nil
	require.NoError(t, b.Enter(t.Context(), "p", "ada"))
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	require.NoError(t, backlog.DefaultConfig().Validate())
	err := backlog.Config{WaitingRuns: -1, Actions: -1, CallerActions: -1}.Validate()
	require.ErrorContains(t, err, "waitingRuns: must not be negative, got -1")
	require.ErrorContains(t, err, "actions: must not be negative, got -1")
	require.ErrorContains(t, err, "callerActions: must not be negative, got -1")
}
