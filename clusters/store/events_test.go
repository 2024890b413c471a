package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

func TestWhatHappensToAClusterIsKept(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	rows, now := store.New(pool), time.Now().UTC().Truncate(time.Microsecond)
	require.NoError(t, rows.Add(t.Context(), store.Cluster{Name: "east", CreatedBy: "ada", CreatedAt: now}, store.Credential{ID: "c", Cluster: "east", CreatedAt: now}, []byte("c")))
	events := func() (said []string) {
		found, err := rows.Events(t.Context(), "east", 0, 100)
		require.NoError(t, err)
		for _, one := range found {
			said = append(said, fmt.Sprint(one.Kind, " ", one.Subject, " ", one.Note))
		}
		return said
	}
	hello := store.Hello{Cluster: "east", Instance: "one", Link: "l1", Replica: "r", Version: "1.2.3"}
	require.NoError(t, rows.Connect(t.Context(), hello, false))
	hello.Link = "l2"
	require.NoError(t, rows.Connect(t.Context(), hello, false), "a link that is opened again is no event")
	require.Equal(t, []string{"connected  version 1.2.3", "added ada "}, events())

	_, err := pool.Exec(t.Context(), `UPDATE cluster_states SET seen_at = seen_at - interval '90 seconds'`)
	require.NoError(t, err)
	hello.Version = ""
	require.NoError(t, rows.Connect(t.Context(), hello, false))
	require.Equal(t, []string{"version  version 1.2.3 to an unnamed version", "returned  away for 1m30s"}, events()[:2])

	until, weight := time.Date(2026, 1, 2, 14, 5, 0, 0, time.UTC), 3
	for _, one := range []store.Wanted{
		{State: states.Cordoned, By: "ada", Note: "new network", At: now},
		{State: states.Draining, By: "eve", At: now, Until: &until},
		{State: states.Draining, By: "eve", Note: "end of lease", At: now, Until: &until},
		{State: states.Ready, By: "ada", At: now},
	} {
		require.NoError(t, rows.SetState(t.Context(), "east", one))
	}
	require.NoError(t, rows.Update(t.Context(), "east", store.Update{By: "ada", At: now, Labels: map[string]string{"b": "2", "a": "1"}, Weight: &weight, Pools: []string{}}))
	require.Equal(t, []string{
		"changed ada labels a=1, b=2; weight 3; pools none", "ready ada ",
		"draining eve until 2026-01-02 14:05 UTC: end of lease", "draining eve until 2026-01-02 14:05 UTC", "cordoned ada new network",
	}, events()[:5])

	hello.Cluster = "south"
	require.ErrorIs(t, rows.Connect(t.Context(), hello, false), store.ErrNone, "one that is not registered has no events")
	require.ErrorIs(t, rows.SetState(t.Context(), "south", store.Wanted{State: states.Ready, At: now}), store.ErrNone)
}

func TestTheLatestEventsAreKept(t *testing.T) {
	rows, now := store.New(pgtest.Schemas(t, store.Schema())), time.Now()
	for _, name := range []string{"east", "west"} {
		require.NoError(t, rows.Add(t.Context(), store.Cluster{Name: name, CreatedAt: now}, store.Credential{ID: name, Cluster: name, CreatedAt: now}, []byte(name)))
	}
	for i := range store.MaxEvents + 5 {
		require.NoError(t, rows.SetState(t.Context(), "east", store.Wanted{State: states.Cordoned, Note: fmt.Sprint(i), At: now}))
	}
	found, err := rows.Events(t.Context(), "east", 0, 1000)
	require.NoError(t, err)
	require.Len(t, found, store.MaxEvents)
	require.Equal(t, fmt.Sprint(store.MaxEvents+4), found[0].Note)
	older, err := rows.Events(t.Context(), "east", found[9].ID, 5)
	require.NoError(t, err)
	require.Equal(t, found[10:15], older)
	other, err := rows.Events(t.Context(), "west", 0, 10)
	require.NoError(t, err)
	require.Len(t, other, 1, "those of other clusters stay")
}
