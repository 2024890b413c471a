package rpc_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// TestOnBehalf: a call for another request arrives as that request did, and is trusted no more than it.
func TestOnBehalf(t *testing.T) {
	of := httptest.NewRequest(http.MethodPost, "https://flyte.example/mcp", nil)
	of.RemoteAddr, of.TLS = "192.0.2.7:1234", &tls.ConnectionState{ServerName: "flyte.example"}
	for name, value := range map[string]string{
		"Authorization": "Bearer x", "X-Request-Id": "7", "Cookie": "session=y", "Content-Type": "text/html", "Accept": "text/html", "Content-Length": "9",
	} {
		of.Header.Set(name, value)
	}
	var seen *http.Request
	handler := connect.NewUnaryHandlerSimple("/test.Service/Call", func(ctx context.Context, m *text) (*text, error) {
		_, known := authz.IdentityIn(ctx)
		require.False(t, known, "the identity of the context in which the call is made does not cross")
		return m, nil
	})
	served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		handler.ServeHTTP(w, r)
	})
	client := connect.NewClient[text, text](rpc.OnBehalf(served, of), rpc.InProcessURL+"/test.Service/Call")
	ctx := authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.User, Subject: "someone else"})
	response, err := client.CallUnary(ctx, connect.NewRequest(&text{Value: "a"}))
	require.NoError(t, err)
	require.Equal(t, "a", response.Msg.GetValue())
	require.Equal(t, "192.0.2.7:1234", seen.RemoteAddr)
	require.Equal(t, "flyte.example", seen.TLS.ServerName)
	require.Equal(t, "flyte.example", seen.Host)
	require.Equal(t, "Bearer x", seen.Header.Get("Authorization"))
	require.Equal(t, "7", seen.Header.Get("X-Request-Id"))
	require.Empty(t, seen.Header.Get("Cookie"))
	require.Equal(t, "application/proto", seen.Header.Get("Content-Type"))
	require.False(t, rpc.IsInProcess(seen.Context()), "it passes the whole chain")
}
