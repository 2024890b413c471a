package manager_test

import (
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProfilesAreServedOnlyWhereConfigured(t *testing.T) {
	url := startServer(t, testConfig(t), nowhere(t))
	code, _, _ := do(t, http.MethodGet, url+"/debug/pprof/", nil, nil)
	require.Equal(t, http.StatusNotFound, code, "the port of the API has none")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	config := testConfig(t)
	config.Telemetry.DebugListen = address
	startServer(t, config, nowhere(t))
	code, _, body := do(t, http.MethodGet, "http://"+address+"/debug/pprof/goroutine?debug=1", nil, nil)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "goroutine profile")
}
