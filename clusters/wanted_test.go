package clusters_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

// counted says what clusters have to do.
type counted map[string]clusters.Work

func (c counted) Work(context.Context) (map[string]clusters.Work, error) { return c, nil }

func TestOperatorsSayWhatClustersDo(t *testing.T) {
	rows := store.New(pgtest.Schemas(t, store.Schema()))
	now := time.Now().UTC().Truncate(time.Microsecond)
	work := counted{"east": {Actions: 2, Apps: 1}}
	registry := clusters.NewRegistry(rows, work, clock.NewFake(now))
	_, _, err := registry.Add(t.Context(), "east", "ada")
	require.NoError(t, err)
	state := func() states.State {
		all, err := rows.States(t.Context(), now)
		require.NoError(t, err)
		require.Len(t, all, 1)
		return all[0]
	}

	require.NoError(t, registry.SetState(t.Context(), "east", states.Cordoned, "ada", "new network", nil))
	require.Equal(t, states.Cordoned, state().State)
	require.Equal(t, "ada", state().By)
	require.Equal(t, "new network", state().Note)
	require.True(t, now.Equal(state().At))
	require.False(t, state().Takes(now))

	hour := time.Hour
	require.NoError(t, registry.SetState(t.Context(), "east", states.Draining, "eve", "", &hour))
	require.True(t, now.Add(hour).Equal(state().Until))
	require.NoError(t, registry.SetState(t.Context(), "east", states.Ready, "eve", "", nil))
	require.True(t, state().Until.IsZero())
	require.True(t, state().Takes(now))
	require.Equal(t, rpc.KindNotFound, rpc.KindOf(registry.SetState(t.Context(), "west", states.Cordoned, "ada", "", nil)))

	weight := 3
	require.NoError(t, registry.Update(t.Context(), "east", store.Update{Labels: map[string]string{"tier": "spot"}, Weight: &weight, Pools: []string{"gpu"}}))
	require.NoError(t, registry.Update(t.Context(), "east", store.Update{}))
	require.Equal(t, map[string]string{"tier": "spot"}, state().Given)
	require.Equal(t, 3, state().Weight)
	require.Equal(t, []string{"gpu"}, state().Pools)
	require.NoError(t, registry.Update(t.Context(), "east", store.Update{Labels: map[string]string{}, Pools: []string{}}))
	require.Empty(t, state().Given)
	require.Empty(t, state().Pools)
	err = registry.Update(t.Context(), "east", store.Update{Labels: map[string]string{"a b": "c"}})
	require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
	require.ErrorContains(t, err, "labels.values")
	require.Equal(t, rpc.KindNotFound, rpc.KindOf(registry.Update(t.Context(), "west", store.Update{})))
}

// TestAClusterWithWorkIsNotRemoved unless it is forced; then what is there is given up.
func TestAClusterWithWorkIsNotRemoved(t *testing.T) {
	rows := store.New(pgtest.Schemas(t, store.Schema()))
	work := counted{"east": {Actions: 2, Apps: 1}}
	registry := clusters.NewRegistry(rows, work, clock.System{})
	for _, name := range []string{"east", "west"} {
		_, _, err := registry.Add(t.Context(), name, "ada")
		require.NoError(t, err)
	}
	err := registry.Remove(t.Context(), "east", false)
	require.Equal(t, rpc.KindFailedPrecondition, rpc.KindOf(err))
	require.ErrorContains(t, err, "2 actions, 1 app")
	require.NoError(t, registry.Remove(t.Context(), "west", false))
	require.Equal(t, rpc.KindNotFound, rpc.KindOf(registry.Remove(t.Context(), "west", true)))

	require.NoError(t, registry.Remove(t.Context(), "east", true))
	all, err := rows.States(t.Context(), time.Now())
	require.NoError(t, err)
	require.Equal(t, []states.State{{Name: "east", State: states.Removed}}, all)
	require.False(t, all[0].Takes(time.Now()))
	_, _, err = registry.Add(t.Context(), "east", "ada")
	require.NoError(t, err)
	all, err = rows.States(t.Context(), time.Now())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, states.Ready, all[0].State)
}
