package store_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

func TestWhatControllersSayIsKnown(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	rows, now := store.New(pool), time.Now()
	add := func(name string) {
		require.NoError(t, rows.Add(t.Context(), store.Cluster{Name: name, CreatedBy: "ada", CreatedAt: now},
			store.Credential{ID: "cred-" + name, Cluster: name, CreatedAt: now}, []byte(name)))
	}
	add("east")
	add("west")
	_, err := pool.Exec(t.Context(), `UPDATE clusters SET labels = '{"region": "us-east-1"}', pools = '{gpu}', weight = 3, state = 'cordoned' WHERE name = 'east'`)
	require.NoError(t, err)

	hello := store.Hello{
		Cluster: "east", Instance: "one", Link: "l1", Replica: "r1", Version: "1.2.3", Policy: "d1", PodPolicy: "p1", Plugins: []string{"pod"}, TaskTypes: []string{"ray"},
		Labels: map[string]string{"region": "unknown", "zone": "a"},
		Nodes:  store.Nodes{Accelerators: []string{"nvidia-h100"}, Capacity: states.Resources{"cpu": 8000}, Free: states.Resources{"cpu": 500}, Largest: states.Resources{"cpu": 4000}},
	}
	require.NoError(t, rows.Connect(t.Context(), hello, false))
	hello.Instance, hello.Link, hello.Nodes, hello.PodPolicy = "two", "l2", store.Nodes{}, "p2"
	require.NoError(t, rows.Connect(t.Context(), hello, false))
	hello.Cluster = "south"
	require.ErrorIs(t, rows.Connect(t.Context(), hello, false), store.ErrNone)
	require.NoError(t, rows.Connect(t.Context(), hello, true), "it registers itself")

	all, err := rows.States(t.Context(), now)
	require.NoError(t, err)
	require.Len(t, all, 3)
	east, south, west := all[0], all[1], all[2]
	require.Equal(t, "cordoned", east.State)
	require.False(t, east.Takes(now))
	require.Equal(t, 3, east.Weight)
	require.Equal(t, []string{"gpu"}, east.Pools)
	require.Equal(t, map[string]string{"region": "us-east-1", "zone": "a"}, east.Labels, "the operator's words win")
	require.Equal(t, 2, east.Controllers)
	require.Equal(t, "1.2.3", east.Version)
	require.Equal(t, "p2", east.PodPolicy, "the latest word counts")
	require.Equal(t, "south", south.Name)
	require.Nil(t, south.Capacity, "unknown")
	require.True(t, south.Takes(now))
	require.False(t, west.Known())
	require.False(t, west.Away(now.Add(time.Hour)), "it was never here")

	_, err = pool.Exec(t.Context(), `UPDATE cluster_states SET seen_at = seen_at - interval '11 seconds' WHERE instance = 'two'`)
	require.NoError(t, err)
	all, err = rows.States(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, 1, all[0].Controllers)
	require.Equal(t, states.Resources{"cpu": 500}, all[0].Free, "the replica that was heard last")
	require.Equal(t, []string{"nvidia-h100"}, all[0].Accelerators)
	require.True(t, all[1].Away(now))

	add("south")
	require.ErrorIs(t, rows.Add(t.Context(), store.Cluster{Name: "south"}, store.Credential{}, nil), store.ErrExists, "it was adopted once")
	hello.Instance = "three"
	require.NoError(t, rows.Connect(t.Context(), hello, true))
	all, err = rows.States(t.Context(), now)
	require.NoError(t, err)
	require.Equal(t, 1, all[1].Controllers, "the replica that was gone is forgotten")
}
