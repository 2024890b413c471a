package kubetest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// kubelet serves what the API server asks nodes for: the logs of containers.
type kubelet struct {
	server *httptest.Server
}

func startKubelet(t testing.TB, log, previous func(pod, container string) string) *kubelet {
	handler := http.NewServeMux()
	handler.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		log := log
		if r.URL.Query().Get("previous") == "true" {
			if log = previous; log == nil {
				http.Error(w, "previous terminated container not found", http.StatusBadRequest)
				return
			}
		}
		if log == nil {
			return
		}
		text := log(r.PathValue("pod"), r.PathValue("container"))
		if r.URL.Query().Get("timestamps") != "true" {
			text = withoutTimes(text)
		}
		_, _ = io.WriteString(w, text)
	})
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	return &kubelet{server: server}
}

// withoutTimes removes the first word of each line: tests write logs as a kubelet sends them with timestamps.
func withoutTimes(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if _, rest, found := strings.Cut(line, " "); found {
			lines[i] = rest
		}
	}
	return strings.Join(lines, "")
}
