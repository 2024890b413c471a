package connectors

import (
	"context"
	"testing"
	"testing/synctest"
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
	require.Equal(t, store.Room{All: 2, Of: [store.Kinds]int{store.Deletes: 6, store.Starts: 6}, Ahead: 18}, room)
	require.Zero(t, h.room(true).All)
	require.Equal(t, 1, newHand(8).room(true).All)
	require.Equal(t, store.Room{All: 1, Of: [store.Kinds]int{1, 1, 1}}, newHand(1).room(false), "one place is for all kinds")
}

// TestLooksWaitForAPlace: 18 more than the 6 that have one, which leaves the others theirs.
func TestLooksWaitForAPlace(t *testing.T) {
	h := newHand(8)
	for uid := range int64(6 + 18) {
		h.take(t.Context(), &store.Job{UID: uid, Stage: store.Created})
	}
	require.Equal(t, store.Room{All: 2, Of: [store.Kinds]int{store.Deletes: 6, store.Starts: 6}}, h.room(false))
	h = newHand(8)
	for uid := range int64(5) {
		h.take(t.Context(), &store.Job{UID: uid, Stage: store.Intended})
	}
	require.Equal(t, 3, h.room(false).All)

	require.Zero(t, newHand(1).room(false).Ahead, "they would keep the only place from the other kinds")
}

// TestALookThatWaitsForAPlace: of 2 places, looks get one.
func TestALookThatWaitsForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, look, silent := newHand(2), &store.Job{Stage: store.Created}, false
		place := func(ctx context.Context, j *store.Job) (leave func(), ok bool) {
			return h.place(ctx, j, func() bool { return silent })
		}
		leave, ok := place(t.Context(), look)
		require.True(t, ok)
		_, ok = place(t.Context(), &store.Job{Stage: store.Intended})
		require.True(t, ok, "the other place is for other kinds")
		ctx, stop := context.WithCancel(t.Context())
		got := make(chan bool)
		wait := func() {
			leave, ok := place(ctx, look)
			if ok {
				leave()
			}
			got <- ok
		}
		for _, one := range []struct {
			why  string
			then func()
			want bool
		}{
			{"there is room", func() {}, true},
			{"the connector is away", func() { silent = true }, false},
			{"the job is to be deleted", func() { silent = false; stop() }, false},
		} {
			go wait()
			synctest.Wait()
			select {
			case <-got:
				require.Fail(t, "it has not waited")
			default:
			}
			one.then()
			leave()
			require.Equal(t, one.want, <-got, one.why)
			leave, ok = place(t.Context(), look)
			require.True(t, ok, "whoever waited is gone")
		}
		leave()
	})
}
