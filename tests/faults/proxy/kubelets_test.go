package proxy_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/tests/faults/proxy"
)

func TestKubeletsAreAskedPastTheAPIServer(t *testing.T) {
	kubelet := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "kubelet "+r.URL.Path)
	}))
	defer kubelet.Close()
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "API server "+r.URL.Path)
	}))
	defer target.Close()
	kubelets := &proxy.Kubelets{Address: func(_ context.Context, node string) (string, error) {
		require.Equal(t, "n1", node)
		return strings.TrimPrefix(kubelet.URL, "https://"), nil
	}}
	p, err := proxy.NewAPI(target.URL, "secret", kubelets)
	require.NoError(t, err)
	defer p.Close()
	defer http.DefaultClient.CloseIdleConnections()
	ask := func(ctx context.Context, path string) (string, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL()+path, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
	for path, want := range map[string]string{
		"/api/v1/nodes/n1/proxy/stats/summary": "kubelet /stats/summary", "/api/v1/nodes/n1": "API server /api/v1/nodes/n1",
	} {
		body, err := ask(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, want, body)
	}
	kubelets.Hang(true)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = ask(short, "/api/v1/nodes/n1/proxy/stats/summary")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	answered := make(chan error, 1)
	go func() { _, err := ask(t.Context(), "/api/v1/nodes/n1/proxy/stats/summary"); answered <- err }()
	kubelets.Hang(false)
	require.NoError(t, <-answered)
}
