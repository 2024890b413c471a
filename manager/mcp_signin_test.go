package manager_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/mcp"
)

// TestAnAgentFindsWhereToSignIn: a refused agent is sent to the description of what it asked for, which names the authorization server,
// which describes itself.
func TestAnAgentFindsWhereToSignIn(t *testing.T) {
	s := startSignIn(t, nil)
	b := s.browser(t)
	get := func(address string, to any) {
		t.Helper()
		answer, err := b.http.Get(s.url + address)
		require.NoError(t, err)
		defer answer.Body.Close()
		require.Equal(t, http.StatusOK, answer.StatusCode, address)
		require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
		require.Equal(t, "*", answer.Header.Get("Access-Control-Allow-Origin"))
		require.NoError(t, json.NewDecoder(answer.Body).Decode(to))
	}
	for _, path := range []string{mcp.Path, mcp.ChangesPath} {
		answer, err := b.http.Post(s.url+path, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, http.StatusUnauthorized, answer.StatusCode)
		var server struct {
			Issuer    string `json:"issuer"`
			Authorize string `json:"authorization_endpoint"`
			Token     string `json:"token_endpoint"`
		}
		get("/.well-known/oauth-authorization-server/access/oauth2", &server)
		url, found := strings.CutSuffix(server.Issuer, "/access/oauth2")
		require.True(t, found, server.Issuer)
		require.Equal(t, server.Issuer+"/authorize", server.Authorize)
		require.Equal(t, server.Issuer+"/token", server.Token)
		require.Equal(t, `Bearer resource_metadata="`+url+mcp.MetadataPath+path+`"`, answer.Header.Get("WWW-Authenticate"))
		var about map[string]any
		get(mcp.MetadataPath+path, &about)
		require.Equal(t, url+path, about["resource"])
		require.Equal(t, []any{server.Issuer}, about["authorization_servers"])
		require.Equal(t, []any{"header"}, about["bearer_methods_supported"])
	}
	answer, err := b.http.Get(s.url + "/metrics")
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, "Bearer", answer.Header.Get("WWW-Authenticate"), "other routes have no such description")
}

// TestNoOneIsSentToSignInWhereAccessIsOpen: there is no authorization server, and nothing describes one.
func TestNoOneIsSentToSignInWhereAccessIsOpen(t *testing.T) {
	for name, c := range map[string]struct {
		start func() (url string, client *http.Client)
	}{
		"open": {func() (string, *http.Client) { return startServer(t, testConfig(t), nowhere(t)), http.DefaultClient }},
		"no agents": {func() (string, *http.Client) {
			s := startSignIn(t, func(c *configuration.Config) { c.MCP = mcp.Config{} })
			return s.url, s.browser(t).http
		}},
	} {
		t.Run(name, func(t *testing.T) {
			url, client := c.start()
			for _, path := range []string{mcp.MetadataPath + mcp.Path, mcp.MetadataPath + mcp.ChangesPath, mcp.MetadataPath} {
				answer, err := client.Get(url + path)
				require.NoError(t, err)
				answer.Body.Close()
				require.Equal(t, http.StatusNotFound, answer.StatusCode, path)
			}
		})
	}
}
