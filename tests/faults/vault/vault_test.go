package vault_test

import (
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/secret/backendtest"
	"github.com/flyte-binary/flyte-binary/secret/entry"
	"github.com/flyte-binary/flyte-binary/secret/vault"
	double "github.com/flyte-binary/flyte-binary/tests/faults/vault"
)

// TestTheProductReadsFromIt: what the double says is what the product takes for a value, for no secret and for an outage.
func TestTheProductReadsFromIt(t *testing.T) {
	server, err := double.New(map[string]string{"d/p/red": "hidden"})
	require.NoError(t, err)
	t.Cleanup(server.Close)
	config := vault.DefaultConfig()
	config.Address, config.Mount, config.Prefix = server.URL(), double.Mount, double.Prefix
	config.Auth = vault.AuthConfig{Method: "token", Token: double.Token}
	store, err := vault.New(config, clock.System{}, zerolog.Nop())
	require.NoError(t, err)
	id := backendtest.ID("p", "d", "red")
	content, err := store.Value(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "hidden", string(content.Value.Reveal()))
	_, err = store.Value(t.Context(), backendtest.ID("p", "d", "blue"))
	require.ErrorIs(t, err, entry.ErrNotFound)
	server.Seal(true)
	_, err = store.Value(t.Context(), id)
	var outage *entry.UnavailableError
	require.ErrorAs(t, err, &outage)
	server.Seal(false)
	_, err = store.Value(t.Context(), id)
	require.NoError(t, err)
}
