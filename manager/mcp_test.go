package manager_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/mcp"
)

// bearer sends a token with every request.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// agent is a session of a person's agent.
func agent(t *testing.T, url, path, person string) *sdk.ClientSession {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: url + path, HTTPClient: &http.Client{Transport: bearer(person)}, DisableStandaloneSSE: true,
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	return session
}

// use calls a tool, and returns the text of its result.
func use(t *testing.T, session *sdk.ClientSession, tool string, arguments map[string]any) (text string, refused bool) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	return result.Content[0].(*sdk.TextContent).Text, result.IsError
}

// TestAgentsMayDoWhatTheirCallersMay uses the tools as people with different roles.
func TestAgentsMayDoWhatTheirCallersMay(t *testing.T) {
	url := startWithRoles(t)
	mine := map[string]any{"project": "mine", "domain": "development", "run": "first"}
	theirs := map[string]any{"project": "theirs", "domain": "development", "run": "first"}

	t.Run("each sees its own projects", func(t *testing.T) {
		text, refused := use(t, agent(t, url, mcp.Path, "ada"), "get_run", mine)
		require.False(t, refused, text)
		require.Contains(t, text, `"run":"first"`)
		text, refused = use(t, agent(t, url, mcp.Path, "ada"), "get_run", theirs)
		require.True(t, refused)
		require.Contains(t, text, "not_found")
		text, _ = use(t, agent(t, url, mcp.Path, "bob"), "list_projects", map[string]any{})
		require.Contains(t, text, "theirs")
		require.NotContains(t, text, "mine")
	})
	t.Run("what a role may not do, its agent may not", func(t *testing.T) {
		theirs := map[string]any{"project": "theirs", "domain": "development", "run": "first", "reason": "a test"}
		text, refused := use(t, agent(t, url, mcp.ChangesPath, "bob"), "abort_run", theirs)
		require.True(t, refused)
		require.Contains(t, text, "permission_denied")
		require.Contains(t, text, "Ask root.")
	})
	t.Run("the address without changes has none", func(t *testing.T) {
		_, err := agent(t, url, mcp.Path, "ada").CallTool(t.Context(), &sdk.CallToolParams{Name: "abort_run", Arguments: mine})
		require.ErrorContains(t, err, "unknown tool")
	})
	t.Run("a change is recorded as its caller's own", func(t *testing.T) {
		require.NoError(t, createRun(t, workflowconnect.NewRunServiceClient(as("ada"), url), runOf("mine", "stopped")))
		text, refused := use(t, agent(t, url, mcp.ChangesPath, "ada"), "abort_run", map[string]any{
			"project": "mine", "domain": "development", "run": "stopped", "reason": "a test",
		})
		require.False(t, refused, text)
		require.Eventually(t, func() bool {
			found, err := accessv1connect.NewAuditServiceClient(as("root"), url).SearchAudit(t.Context(), &accessv1.SearchAuditRequest{
				Subject: "ada", Permission: "run.abort",
			})
			require.NoError(t, err)
			return len(found.GetEvents()) == 1 && found.GetEvents()[0].GetPeer() == "127.0.0.1" &&
				found.GetEvents()[0].GetResources()[0] == "run mine/development/stopped"
		}, time.Minute, 10*time.Millisecond)
	})
	t.Run("a caller without a credential is refused", func(t *testing.T) {
		for _, header := range []http.Header{{}, {"Cookie": {"__Host-session=x"}}} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+mcp.Path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			require.NoError(t, err)
			request.Header = header
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", "application/json, text/event-stream")
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			response.Body.Close()
			require.Equal(t, http.StatusUnauthorized, response.StatusCode)
			require.Equal(t, "Bearer", response.Header.Get("WWW-Authenticate"))
		}
	})
}

// TestAgentsCanBeKeptOut: an installation may serve no agents, or no changes by them.
func TestAgentsCanBeKeptOut(t *testing.T) {
	for name, set := range map[string]mcp.Config{"no changes": {Enabled: true}, "none": {Changes: true}} {
		t.Run(name, func(t *testing.T) {
			url := startWithRoles(t, func(c *configuration.Config) { c.MCP = set })
			for path, served := range map[string]bool{mcp.Path: set.Enabled, mcp.ChangesPath: set.Enabled && set.Changes} {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
				require.NoError(t, err)
				response, err := (&http.Client{Transport: bearer("ada")}).Do(request)
				require.NoError(t, err)
				response.Body.Close()
				require.Equal(t, served, response.StatusCode == http.StatusMethodNotAllowed, "%s: %s", path, response.Status)
			}
		})
	}
}
