package stack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// dashboards plays the dashboards of all Ray clusters, whose heads have the address of this machine. A job runs until end.
type dashboards struct {
	server  *http.Server
	started time.Time
	over    sync.Map // the ids of jobs that have ended
}

// headAddress is that of all pods of Ray clusters.
const headAddress = "127.0.0.1"

func startDashboards(ctx context.Context) (*dashboards, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", headAddress+":8265")
	if err != nil {
		return nil, fmt.Errorf("play the dashboards of Ray: %w", err)
	}
	d := &dashboards{started: time.Now()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/jobs/{id}", func(w http.ResponseWriter, r *http.Request) {
		status := "RUNNING"
		if _, over := d.over.Load(r.PathValue("id")); over {
			status = "SUCCEEDED"
		}
		fmt.Fprintf(w, `{"type": "SUBMISSION", "submission_id": %q, "status": %q, "message": "", "start_time": %d}`,
			r.PathValue("id"), status, d.started.UnixMilli()) // another time would be another status
	})
	mux.HandleFunc("POST /api/jobs/{id}/stop", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"stopped": true}`) })
	d.server = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = d.server.Serve(listener) }()
	return d, nil
}

func (d *dashboards) end(id string) { d.over.Store(strings.TrimSpace(id), true) }

func (d *dashboards) close() { _ = d.server.Close() }
