package rpc_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

func TestPlainRoutes(t *testing.T) {
	served := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") })
	mux, err := rpc.NewGuardedMux(rpc.Chain{Authenticator: ada{}, Authoriser: &known{}, InternalToken: "right"})
	require.NoError(t, err)
	for _, unknown := range []string{"/unheard-of", "GET /debug", "/no.such.Service/"} {
		require.PanicsWithValue(t, "rpc: "+map[string]string{
			"/unheard-of":       "route /unheard-of has no rule; add it to the table of routes",
			"GET /debug":        "route GET /debug has no rule; add it to the table of routes",
			"/no.such.Service/": "service no.such.Service has no rules; add it to the table of procedures",
		}[unknown], func() { mux.Handle(unknown, served) })
	}
	for _, pattern := range []string{"GET /metrics", "GET /healthz", "/blobs/"} {
		mux.Handle(pattern, served)
	}
	require.Equal(t, []string{"/blobs/", "GET /healthz", "GET /metrics"}, mux.Routes())

	get := func(path, header, value string) int {
		request := httptest.NewRequest(http.MethodGet, path, nil)
		if header != "" {
			request.Header.Set(header, value)
		}
		recorder := httptest.NewRecorder()
		mux.ServeHTTP(recorder, request)
		return recorder.Code
	}
	require.Equal(t, http.StatusUnauthorized, get("/metrics", "", ""))
	require.Equal(t, http.StatusUnauthorized, get("/metrics", "Authorization", "Bearer eve"))
	require.Equal(t, http.StatusUnauthorized, get("/metrics", rpc.InternalTokenHeader, "wrong"))
	require.Equal(t, http.StatusOK, get("/metrics", "Authorization", "Bearer ada"))
	require.Equal(t, http.StatusOK, get("/metrics", rpc.InternalTokenHeader, "right"))
	for _, open := range []string{"/healthz", "/blobs/x"} {
		require.Equal(t, http.StatusOK, get(open, "Authorization", "Bearer eve"), "an invalid credential must not matter")
	}
}
