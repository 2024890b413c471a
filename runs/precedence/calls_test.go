package precedence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

type processors struct{ short bool }

func (p *processors) Short() bool { return p.short }

func TestManyCallsClaimShortProcessors(t *testing.T) {
	clk := clock.NewFake(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
	of := &processors{short: true}
	calls := New(clk, of, 2)
	first, second := calls.Begin(), calls.Begin()
	require.False(t, calls.ClaimProcessors(), "two processors serve two calls")

	third := calls.Begin()
	require.True(t, calls.ClaimProcessors())
	of.short = false
	require.False(t, calls.ClaimProcessors(), "processors are free")
	of.short = true

	clk.Step(time.Second)
	require.True(t, calls.ClaimProcessors(), "they take long")
	third()
	require.True(t, calls.ClaimProcessors(), "they were in flight until now")
	clk.Step(lull)
	require.False(t, calls.ClaimProcessors())
	calls.Begin()
	require.True(t, calls.ClaimProcessors(), "the next wave")

	first()
	second()
	require.True(t, calls.ClaimProcessors())
	clk.Step(-time.Hour)
	require.False(t, calls.ClaimProcessors(), "a clock that was put back does not prolong it by an hour")
}
