package signing_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/signing"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

// counted counts the reads, and fails while away is set.
type counted struct {
	*store.Store
	mu    sync.Mutex
	reads int
	away  error
}

func (c *counted) SigningKeys(ctx context.Context, purpose string) ([]store.SigningKey, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads++; c.away != nil {
		return nil, c.away
	}
	return c.Store.SigningKeys(ctx, purpose)
}

func (c *counted) AddSigningKey(ctx context.Context, purpose string, key store.SigningKey, before, retires time.Time) ([]store.SigningKey, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away != nil {
		return nil, c.away
	}
	return c.Store.AddSigningKey(ctx, purpose, key, before, retires)
}

// replicas are two rings of one purpose on one database.
func replicas(t *testing.T) (*clock.Fake, [2]*signing.Ring, [2]*counted) {
	pool := pgtest.Schemas(t, store.Schema())
	clk := clock.NewFake(time.Unix(1_000_000, 0).UTC())
	var made int
	config := signing.Config{
		Purpose: "tests", Rotate: 24 * time.Hour, Keep: 48 * time.Hour,
		Make: func() ([]byte, error) { made++; return fmt.Appendf(nil, "key %d", made), nil },
	}
	var rings [2]*signing.Ring
	var stores [2]*counted
	for i := range rings {
		stores[i] = &counted{Store: store.New(pool, clk)}
		rings[i] = signing.NewRing(config, stores[i], clk)
	}
	return clk, rings, stores
}

func TestReplicasSignWithTheSameKey(t *testing.T) {
	clk, rings, _ := replicas(t)
	first, err := rings[0].Signer(t.Context())
	require.NoError(t, err)
	second, err := rings[1].Signer(t.Context())
	require.NoError(t, err)
	require.Equal(t, first.ID, second.ID)
	require.Equal(t, first.Private(), second.Private())
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", first, first, first, first), "key 1")

	clk.Step(24 * time.Hour)
	newer, err := rings[1].Signer(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, first.ID, newer.ID)
	_, known, err := rings[0].Verifier(t.Context(), newer.ID)
	require.NoError(t, err)
	require.True(t, known, "a replica finds the key of another one when it first sees it")
	again, err := rings[0].Signer(t.Context())
	require.NoError(t, err)
	require.Equal(t, newer.ID, again.ID)

	clk.Step(47 * time.Hour)
	for _, ring := range rings {
		_, known, err = ring.Verifier(t.Context(), first.ID)
		require.NoError(t, err)
		require.True(t, known, "an old key verifies until it retires")
	}
	clk.Step(2 * time.Hour)
	for _, ring := range rings {
		_, known, err = ring.Verifier(t.Context(), first.ID)
		require.NoError(t, err)
		require.False(t, known)
	}
}

func TestUnknownKeysAreNotReadAgainAndAgain(t *testing.T) {
	clk, rings, stores := replicas(t)
	for range 50 {
		_, known, err := rings[0].Verifier(t.Context(), "made up")
		require.NoError(t, err)
		require.False(t, known)
	}
	require.Equal(t, 1, stores[0].reads)
	clk.Step(time.Second)
	_, _, err := rings[0].Verifier(t.Context(), "made up")
	require.NoError(t, err)
	require.Equal(t, 2, stores[0].reads)
}

func TestKnownKeysOutliveAnOutage(t *testing.T) {
	clk, rings, stores := replicas(t)
	key, err := rings[0].Signer(t.Context())
	require.NoError(t, err)
	clk.Step(36 * time.Hour)
	stores[0].away = errors.New("no database")
	still, err := rings[0].Signer(t.Context())
	require.NoError(t, err)
	require.Equal(t, key.ID, still.ID)
	_, known, err := rings[0].Verifier(t.Context(), key.ID)
	require.NoError(t, err)
	require.True(t, known)
	_, _, err = rings[0].Verifier(t.Context(), "of another replica")
	require.ErrorContains(t, err, "no database", "a key that may exist is not refused for good")
	_, err = signing.NewRing(signing.Config{Purpose: "none", Make: func() ([]byte, error) { return nil, nil }}, stores[0], clk).Signer(t.Context())
	require.ErrorContains(t, err, "no database")
}
