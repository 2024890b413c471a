package browserguard_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/browserguard"
)

func TestHosts(t *testing.T) {
	hosts := browserguard.NewHosts("flyte.example.com", "https://console.example:8443", "http://*", "http://dev.example:*", "", "0.0.0.0:8090")
	for _, known := range []string{
		"127.0.0.1:8088", "10.0.0.7", "[::1]:8088", "[fd00::1]", "localhost", "LOCALHOST:8088", "app.localhost:1", "flyte:80",
		"flyte.flyte.svc:80", "flyte.flyte.svc.cluster.local", "flyte.example.com", "Flyte.Example.Com.:443", "console.example:1", "dev.example",
	} {
		require.True(t, hosts.Allow(known), known)
	}
	for _, unknown := range []string{
		"", ":8088", "evil.example", "evil.example:8088", "127.0.0.1.evil.example", "localhost.evil.example", "flyte.example.com.evil.example",
		"svc.evil.example", "1.2.3", "127.0.0.1.nip.io:8088",
	} {
		require.False(t, hosts.Allow(unknown), unknown)
	}
	require.True(t, hosts.Listed("Flyte.Example.Com.:443"))
	require.False(t, hosts.Listed("app.localhost:8088"), "allowed, but not by name")
}

func TestNamesOfNeighboursAreUnknownOnAMachine(t *testing.T) {
	cluster := browserguard.NewHosts("flyte.example.com")
	machine := cluster.OnMachine("Laptop", "laptop.example.com")
	for _, known := range []string{"127.0.0.1:8088", "[::1]:8088", "localhost:8088", "app.localhost", "laptop:8088", "laptop.example.com", "flyte.example.com"} {
		require.True(t, machine.Allow(known), known)
	}
	for _, neighbour := range []string{"printer", "wpad:8088", "flyte.flyte.svc", "x.svc.cluster.local", "laptop.local"} {
		require.False(t, machine.Allow(neighbour), neighbour)
	}
	require.True(t, cluster.Allow("printer"), "the names of services in a namespace have no dot")
	require.False(t, cluster.Listed("laptop"), "the other hosts stay as they are")
}

func TestGuard(t *testing.T) {
	guard := browserguard.Guard(browserguard.NewHosts("flyte.example"), func(r *http.Request) bool {
		return r.Header.Get("Origin") == "https://partner.example"
	}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	for _, c := range []struct {
		name, method, host string
		header             map[string]string
		want               int
	}{
		{"the SDK", "POST", "flyte.example", nil, http.StatusNoContent},
		{"a rebound name", "POST", "evil.example:8088", map[string]string{"Origin": "http://evil.example:8088", "Sec-Fetch-Site": "same-origin"}, http.StatusMisdirectedRequest},
		{"a rebound name that reads", "GET", "evil.example", nil, http.StatusMisdirectedRequest},
		{"our page", "POST", "flyte.example", map[string]string{"Origin": "https://flyte.example", "Sec-Fetch-Site": "same-origin"}, http.StatusNoContent},
		{"our page in an old browser", "POST", "flyte.example", map[string]string{"Origin": "http://flyte.example"}, http.StatusNoContent},
		{"a link from a chat", "GET", "flyte.example", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, http.StatusNoContent},
		{"a foreign page", "POST", "flyte.example", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"a foreign page in an old browser", "POST", "flyte.example", map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden},
		{"a page of another local server", "POST", "localhost:8088", map[string]string{"Origin": "http://localhost:3000", "Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		{"a report", "PUT", "flyte.example", map[string]string{"Origin": "null", "Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"a listed page", "POST", "flyte.example", map[string]string{"Origin": "https://partner.example", "Sec-Fetch-Site": "cross-site"}, http.StatusNoContent},
		{"a preflight", "OPTIONS", "flyte.example", map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}, http.StatusNoContent},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := httptest.NewRequestWithContext(t.Context(), c.method, "/x", nil)
			request.Host = c.host
			for key, value := range c.header {
				request.Header.Set(key, value)
			}
			response := httptest.NewRecorder()
			guard.ServeHTTP(response, request)
			require.Equal(t, c.want, response.Code, response.Body.String())
		})
	}
}
