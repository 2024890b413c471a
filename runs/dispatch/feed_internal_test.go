package dispatch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

func TestFeedTellsLocalFromRemote(t *testing.T) {
	feed := NewFeed("me")
	sub := feed.Subscribe()

	feed.Heard(pgdb.Notification{Payload: "me 1,2"})
	require.Empty(t, sub.Ready(), "our own commits were announced exactly")

	feed.Heard(pgdb.Notification{Payload: "other 1,2"})
	feed.Heard(pgdb.Notification{Payload: "other 3"})
	require.Len(t, sub.Ready(), 1)
	changes := sub.Take()
	require.Equal(t, map[int64]struct{}{1: {}, 2: {}, 3: {}}, changes.Runs)
	require.True(t, changes.Queued)
	require.False(t, changes.Resync)

	for _, odd := range []pgdb.Notification{{Resync: true}, {Payload: "other x"}, {Payload: "12"}, {Payload: ""}} {
		feed.Heard(odd)
		require.True(t, sub.Take().Resync, "%v", odd)
	}
	sub.Close()
	feed.LiveChanged(store.LiveChange{Admitted: []schema.Ref{{ID: 1}}})
	require.Empty(t, sub.Take().Live)
}

func TestFeedKeepsTheLatestOfEachAction(t *testing.T) {
	feed := NewFeed("me")
	sub := feed.Subscribe()
	feed.LiveChanged(store.LiveChange{Admitted: []schema.Ref{{ID: 1}, {ID: 2}}})
	feed.LiveChanged(store.LiveChange{Ended: []schema.Ref{{ID: 1}}, Queued: []int64{7}})
	changes := sub.Take()
	require.False(t, changes.Live[1].Live)
	require.True(t, changes.Live[2].Live)
	require.True(t, changes.Queued)
	require.Zero(t, sub.Take())
}
