package absences_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/absences"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

// TestAbsencesAreRecordedOnce: two replicas see a cluster away, then lost, then away again, and each of it is one event.
func TestAbsencesAreRecordedOnce(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	rows, clk := store.New(pool), clock.NewFake(time.Now())
	add := func(name string) {
		require.NoError(t, rows.Add(t.Context(), store.Cluster{Name: name, CreatedAt: clk.Now()}, store.Credential{ID: name, Cluster: name, CreatedAt: clk.Now()}, []byte(name)))
	}
	add("east")
	add("unseen")
	connect := func() {
		require.NoError(t, rows.Connect(t.Context(), store.Hello{Cluster: "east", Instance: "one", Link: fmt.Sprint(clk.Now().UnixNano()), Replica: "r", Version: "1"}, false))
	}
	silent := func(span string) {
		_, err := pool.Exec(t.Context(), `UPDATE cluster_states SET seen_at = now() - $1::interval`, span)
		require.NoError(t, err)
	}
	events := func(cluster string) (kinds []store.EventKind) {
		found, err := rows.Events(t.Context(), cluster, 0, 100)
		require.NoError(t, err)
		for _, one := range found {
			kinds = append(kinds, one.Kind)
		}
		return kinds
	}
	// passes lets both loops look at the clusters for a time.
	passes := func(times int) {
		asleep := func() bool { return clk.Timers() == 2 }
		for range times {
			require.Eventually(t, asleep, time.Minute, time.Millisecond)
			clk.Step(2 * time.Second)
		}
		require.Eventually(t, asleep, time.Minute, time.Millisecond)
	}
	connect()
	silent("60 seconds")
	for range 2 {
		loop := absences.New(absences.Deps{
			Clusters: states.NewReader(rows, clk.Now), Store: rows, LostAfter: 10 * time.Minute, Clock: clk, Logger: zerolog.New(zerolog.NewTestWriter(t)),
		})
		require.NoError(t, loop.Start(t.Context()))
		defer func() { require.NoError(t, loop.Stop(t.Context())) }()
	}
	passes(8)
	require.Equal(t, []store.EventKind{store.EventConnected, store.EventAdded}, events("east"), "after a start, controllers have time to connect")
	passes(5)
	require.Equal(t, []store.EventKind{store.EventAway, store.EventConnected, store.EventAdded}, events("east"))
	silent("11 minutes")
	passes(3)
	require.Equal(t, []store.EventKind{store.EventLost, store.EventAway}, events("east")[:2])
	connect()
	passes(2)
	silent("20 seconds")
	_, err := pool.Exec(t.Context(), `UPDATE cluster_events SET at = at - interval '20 minutes'`)
	require.NoError(t, err)
	passes(3)
	require.Equal(t, []store.EventKind{store.EventAway, store.EventReturned, store.EventLost, store.EventAway}, events("east")[:4])
	require.Equal(t, []store.EventKind{store.EventAdded}, events("unseen"), "a cluster that never connected is not away")
}
