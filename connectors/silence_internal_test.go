package connectors

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/connectors/store"
)

// TestASilentConnectorIsAskedAboutOneJob: with pauses that grow, until it answers.
func TestASilentConnectorIsAskedAboutOneJob(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := &silence{first: time.Second, longest: time.Minute}
	for range silentAfter - 1 {
		s.notReached(now)
	}
	require.False(t, s.tripped(), "some calls may fail")
	s.notReached(now)
	s.notReached(now)
	require.True(t, s.tripped())
	first := s.pause(now)
	require.InDelta(t, time.Second, first, float64(time.Second/4), "calls that fail together are one failure")
	now = now.Add(first)
	require.Zero(t, s.pause(now))
	s.notReached(now)
	require.Greater(t, s.pause(now), time.Second)
	s.probe()
	require.Zero(t, s.pause(now), "there is news of the connector")
	require.True(t, s.tripped(), "one job at a time finds out")
	s.reached()
	require.False(t, s.tripped())
}

// TestNoKindTakesAllPlaces: of 8 places, looks get 6.
func TestNoKindTakesAllPlaces(t *testing.T) {
	h := newHand(8)
	for uid := range int64(6) {
		h.take(t.Context(), &store.Job{UID: uid, Stage: store.Created})
	}
	room := h.room(false)
	require.Equal(t, store.Room{All: 2, Of: [store.Kinds]int{store.Deletes: 6, store.Starts: 6}}, room)
	require.Zero(t, h.room(true).All)
	require.Equal(t, 1, newHand(8).room(true).All)
	require.Equal(t, store.Room{All: 1, Of: [store.Kinds]int{1, 1, 1}}, newHand(1).room(false), "one place is for all kinds")
}
