package gateway

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDistances: clusters that are configured come first, then those to which connections were fast; each is measured again in time.
func TestDistances(t *testing.T) {
	d := newDistances([]string{"home", "next"})
	require.Less(t, d.of("home", 0), d.of("next", 0))
	require.Less(t, d.of("next", 0), d.of("west", 0))

	d.connected("west", 80*time.Millisecond, 0)
	d.connected("east", 2*time.Millisecond, 0)
	require.Less(t, d.of("east", time.Second), d.of("west", time.Second))
	d.connected("east", 2200*time.Microsecond, time.Second)
	before := d.of("east", time.Second)
	d.connected("east", 1900*time.Microsecond, time.Second)
	require.LessOrEqual(t, d.of("east", time.Second), before, "a little more or less does not count")

	require.Zero(t, d.of("west", 2*time.Minute), "one request measures it again")
	require.NotZero(t, d.of("west", 2*time.Minute), "and only one")
	d.connected("west", time.Millisecond, 2*time.Minute)
	require.Less(t, d.of("west", 2*time.Minute), 4, "what it was long ago does not count")
}
