package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestTokensOfTasksOnlyWhereTheyAreNeeded: an installation that authenticates no one asks for no token for each attempt.
func TestTokensOfTasksOnlyWhereTheyAreNeeded(t *testing.T) {
	open, local, proxy := configuration.DefaultConfig(), configuration.DefaultConfig(), configuration.DefaultConfig()
	local.Access.Local.Enabled = true
	proxy.Access.Proxy.Token.Header = "X-Example-Assertion"
	require.False(t, closed(open, Options{}))
	require.True(t, closed(local, Options{}))
	require.True(t, closed(proxy, Options{}))
	require.True(t, closed(open, Options{Authenticator: authz.Open{}}))
	p := newPeers(open, certfiles.Mutual{}, rpc.NewMux())
	require.NotNil(t, p.taskTokens())
	p.tokenless = true
	require.Nil(t, p.taskTokens())
}
