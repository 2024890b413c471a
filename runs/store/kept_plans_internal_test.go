package store

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPlansAreKeptAsLongAsTheyFit counts when plans are made again, for a connection with a transaction each millisecond.
func TestPlansAreKeptAsLongAsTheyFit(t *testing.T) {
	p, now := &keptPlans{}, time.Now()
	var renewed []int
	run := func(transactions int, every time.Duration) {
		renewed = nil
		for i := range transactions {
			if p.renew(now) {
				renewed = append(renewed, i)
			}
			now = now.Add(every)
		}
	}
	run(63, time.Millisecond)
	require.Equal(t, []int{0, 2, 5, 10, 19, 36}, renewed, "each time for twice as many transactions")
	run(4*maxPlanUses, time.Millisecond)
	require.Equal(t, maxPlanUses+1, renewed[len(renewed)-1]-renewed[len(renewed)-2], "but not for more than the limit")
	run(10, maxPlanAge)
	require.Len(t, renewed, 9, "nor for longer")
	now = now.Add(-time.Hour)
	run(1, 0)
	require.Equal(t, []int{0}, renewed, "a clock that is set back does not keep them")
}
