package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

type pace struct{ slow bool }

func (p *pace) Slow() bool { return p.slow }

// TestTheLimitFollowsThePaceOfTheCluster: 500 actions were live for 20 minutes at a cluster that started fewer than one a second.
func TestTheLimitFollowsThePaceOfTheCluster(t *testing.T) {
	cluster := &pace{}
	c := &ceiling{limit: 500, pace: cluster}
	now := time.Unix(1000, 0)
	look := func(live int) int { now = now.Add(ceilingEvery); return c.look(now, live) }
	require.Equal(t, 500, c.at(), "before the first look")
	require.Equal(t, 500, look(480))
	cluster.slow = true
	require.Equal(t, 240, look(480), "half of those that are live")
	require.Equal(t, 240, c.look(now.Add(ceilingEvery-1), 480), "what that did must show first")
	require.Equal(t, 120, look(480), "those that are live already stay")
	require.Equal(t, 60, look(200))
	for range 10 {
		look(60)
	}
	require.Equal(t, 25, c.at(), "a part of the limit stays")
	cluster.slow = false
	for i := 1; i < steps; i++ {
		require.Equal(t, 25+25*i, look(25), "it grows back step by step")
	}
	require.Equal(t, 500, look(25))
}

func TestTheLimitStaysWithinItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cluster := &pace{}
		c := &ceiling{limit: rapid.IntRange(1, 20_000).Draw(t, "limit"), pace: cluster}
		now := time.Unix(1000, 0)
		for range rapid.IntRange(1, 50).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "seconds")) * time.Second)
			cluster.slow = rapid.Bool().Draw(t, "slow")
			before := c.at()
			after := c.look(now, rapid.IntRange(0, 30_000).Draw(t, "live"))
			require.Equal(t, after, c.at())
			require.GreaterOrEqual(t, after, max(1, c.limit/floor))
			require.LessOrEqual(t, after, c.limit)
			if cluster.slow {
				require.LessOrEqual(t, after, before)
			} else {
				require.GreaterOrEqual(t, after, before)
			}
		}
	})
	c := &ceiling{limit: 7}
	require.Equal(t, 7, c.look(time.Unix(1000, 0), 100), "without a pace")
}
