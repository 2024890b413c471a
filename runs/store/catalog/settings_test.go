package catalog_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

func TestSettingsAreVersioned(t *testing.T) {
	stored := catalog.NewSettings(pgtest.New(t, store.Migrations()))
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	org, domain := catalog.SettingsKey{}, catalog.SettingsKey{Domain: "d"}
	project, other := catalog.SettingsKey{Domain: "d", Project: "p"}, catalog.SettingsKey{Domain: "e", Project: "p"}
	levels := func(key catalog.SettingsKey) string {
		rows, err := stored.Levels(t.Context(), key)
		require.NoError(t, err)
		text := ""
		for _, row := range rows {
			text += fmt.Sprintf("%s/%s=%s@%d ", row.Key.Domain, row.Key.Project, row.Body, row.Version)
		}
		return text
	}
	require.Empty(t, levels(project))
	for body, key := range map[string]catalog.SettingsKey{"org": org, "domain": domain, "project": project, "other": other} {
		require.NoError(t, stored.Create(t.Context(), key, []byte(body), now))
		require.Equal(t, rpc.KindAlreadyExists, rpc.KindOf(stored.Create(t.Context(), key, []byte("again"), now)))
	}
	require.Equal(t, "/=org@1 d/=domain@1 d/p=project@1 ", levels(project))
	require.Equal(t, "/=org@1 d/=domain@1 ", levels(domain))
	require.Equal(t, "/=org@1 ", levels(org))
	require.Equal(t, "/=org@1 e/p=other@1 ", levels(other))

	version, err := stored.Update(t.Context(), project, 1, []byte("second"), now)
	require.NoError(t, err)
	require.Equal(t, int64(2), version)
	_, err = stored.Update(t.Context(), project, 1, []byte("late"), now)
	require.Equal(t, rpc.KindFailedPrecondition, rpc.KindOf(err))
	require.ErrorContains(t, err, "at version 2, not 1")
	_, err = stored.Update(t.Context(), catalog.SettingsKey{Domain: "x"}, 1, nil, now)
	require.Equal(t, rpc.KindNotFound, rpc.KindOf(err))
	require.Error(t, stored.Create(t.Context(), catalog.SettingsKey{Project: "p"}, []byte("x"), now), "a project is in a domain")
}

func TestOfConcurrentUpdatesOneWins(t *testing.T) {
	stored := catalog.NewSettings(pgtest.New(t, store.Migrations()))
	require.NoError(t, stored.Create(t.Context(), catalog.SettingsKey{}, []byte("first"), time.Now()))
	var wait sync.WaitGroup
	won := make([]bool, 8)
	for i := range won {
		wait.Go(func() {
			_, err := stored.Update(t.Context(), catalog.SettingsKey{}, 1, []byte{byte(i)}, time.Now())
			won[i] = err == nil
		})
	}
	wait.Wait()
	winners := 0
	for i, one := range won {
		if one {
			winners++
			rows, err := stored.Levels(t.Context(), catalog.SettingsKey{})
			require.NoError(t, err)
			require.Equal(t, []byte{byte(i)}, rows[0].Body)
		}
	}
	require.Equal(t, 1, winners)
}
