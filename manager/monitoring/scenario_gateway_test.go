package monitoring_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// fragileApp answers, and fails every third request while a file exists.
const fragileApp = `
import http.server, itertools, os, sys
count = itertools.count()
class App(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500 if os.path.exists(sys.argv[2]) and next(count) % 3 == 0 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), App).serve_forever()
`

// gatewayErrors breaks an app of a demo: apps require a cluster that runs Deployments, which the API server of the tests does not.
func gatewayErrors(t *testing.T) (map[string]string, func(), func()) {
	url := startDemo(t)
	port := freePort(t)
	broken := filepath.Join(t.TempDir(), "broken")
	apps := appconnect.NewAppServiceClient(http.DefaultClient, url)
	_, err := apps.Create(t.Context(), &app.CreateRequest{App: &app.App{
		Metadata: &app.Meta{Id: &app.Identifier{Project: "flytesnacks", Domain: "development", Name: "web"}},
		Spec: &app.Spec{
			AppPayload: &app.Spec_Container{Container: &core.Container{
				Image: "registry.example/web:1", Command: []string{"python3", "-c", fragileApp, strconv.Itoa(port), broken},
				Ports: []*core.ContainerPort{{ContainerPort: uint32(port)}},
			}},
			Autoscaling:     &app.AutoscalingConfig{Replicas: &app.Replicas{Min: 1, Max: 1}},
			SecurityContext: &app.SecurityContext{AllowAnonymous: true}, DesiredState: app.Spec_DESIRED_STATE_ACTIVE,
		},
	}})
	require.NoError(t, err)
	address := url + "/apps/flytesnacks/development/web/"
	require.Eventually(t, func() bool { return get(t.Context(), address) == http.StatusOK }, 2*time.Minute, 100*time.Millisecond)
	repeatedly(t, 200*time.Millisecond, func(ctx context.Context, _ int) { get(ctx, address) })
	return map[string]string{"one": url}, func() { _ = os.WriteFile(broken, nil, 0o600) }, func() { _ = os.Remove(broken) }
}

// startDemo starts the built demo with fresh data and returns its URL. No task runs in it, so its Python environment is empty.
func startDemo(t *testing.T) string {
	t.Helper()
	program := os.Getenv("FLYTE_BINARY_DEMO")
	require.NotEmpty(t, program, "recording this needs the demo: make build-demo, and FLYTE_BINARY_DEMO=bin/flyte-binary")
	python := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(python, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(python, "bin", "a0"), []byte("#!/bin/sh\n"), 0o755))
	out := &output{}
	demo := exec.Command(program, "demo", "--ephemeral", "--listen", "127.0.0.1:0", "--python", python)
	demo.Stdout, demo.Stderr = out, out
	require.NoError(t, demo.Start())
	t.Cleanup(func() {
		require.NoError(t, demo.Process.Signal(syscall.SIGINT))
		require.NoError(t, demo.Wait())
	})
	ready := regexp.MustCompile(`Ready in \S+: (http://\S+)`)
	require.Eventually(t, func() bool { return ready.MatchString(out.String()) }, 5*time.Minute, 100*time.Millisecond, "%s", out)
	return ready.FindStringSubmatch(out.String())[1]
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	return number
}

// get returns the status of the answer, 0 without one.
func get(ctx context.Context, url string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// output is what a process has written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // GUARDED_BY(mu)
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String implements fmt.Stringer.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.ToValidUTF8(o.text.String(), "?")
}
