package pools

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/pools/store"
)

// TestASpanSurvivesWrongClocks: a phase lasts as long as its process ran, whatever the worker's clock says.
func TestASpanSurvivesWrongClocks(t *testing.T) {
	claimed := time.Unix(1_000_000, 0)
	now := claimed.Add(time.Minute)
	for name, wrong := range map[string]time.Duration{"right": 0, "a little behind": -time.Second, "behind": -time.Hour, "ahead": time.Hour} {
		begun := claimed.Add(5*time.Second + wrong)
		began, ended := span(&store.Action{Claimed: &claimed, BegunAt: &begun}, begun.Add(40*time.Second), now)
		require.Equal(t, 40*time.Second, ended.Sub(began), name)
		require.False(t, began.Before(claimed), name)
		require.False(t, ended.After(now), name)
	}
	_, ended := span(&store.Action{Claimed: &claimed}, time.Unix(0, 0).UTC(), now)
	require.Equal(t, now, ended, "an end without a time")
}
