package gateway

import (
	"context"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// watcher follows the stream of routes. During an outage of the apps service the last routes stay in force.
type watcher struct {
	gateway    string
	source     Routes
	routes     *routes
	maxSilence time.Duration
	clock      clock.Clock
	log        zerolog.Logger
	lines      *loglimit.Limit

	mu    sync.Mutex
	since time.Time // GUARDED_BY(mu): when the stream broke; zero while it works
	cause error     // GUARDED_BY(mu)
}

func (w *watcher) run(ctx context.Context) {
	routes := stream.Client[enginev1.WatchRoutesResponse]{
		Open: func(ctx context.Context) (*connect.ServerStreamForClient[enginev1.WatchRoutesResponse], error) {
			return w.source.WatchRoutes(ctx, &enginev1.WatchRoutesRequest{Gateway: w.gateway})
		},
		MaxSilence: w.maxSilence, Backoff: backoff.Config{First: 50 * time.Millisecond, Max: 5 * time.Second}, Clock: w.clock,
		Failed: func(err error, _ time.Duration) { w.broke(err) },
	}
	routes.Follow(ctx, w.follow)
}

// follow handles one stream.
func (w *watcher) follow(_ context.Context, routes *stream.Stream[enginev1.WatchRoutesResponse]) error {
	snapshot, gathering := map[string]*enginev1.AppRoute{}, true
	for message := range routes.All() {
		switch m := message.GetMessage().(type) {
		case *enginev1.WatchRoutesResponse_Route:
			if gathering {
				snapshot[m.Route.GetUid()] = m.Route
			} else {
				w.routes.set(m.Route)
			}
		case *enginev1.WatchRoutesResponse_Removed:
			if gathering {
				delete(snapshot, m.Removed.GetUid())
			} else {
				w.routes.remove(m.Removed.GetUid())
			}
		case *enginev1.WatchRoutesResponse_Sentinel:
			if gathering {
				gathering = false
				routes.Complete()
				w.routes.replace(snapshot)
				w.works()
			}
		}
	}
	return nil
}

func (w *watcher) broke(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cause = err
	if w.since.IsZero() {
		w.since = w.clock.Now()
	}
	if suppressed, ok := w.lines.Allow("routes"); ok {
		w.log.Warn().Err(err).Int("suppressed", suppressed).Msg("route stream failed; using the last known routes")
	}
}

func (w *watcher) works() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since, w.cause = time.Time{}, nil
}

// broken returns since when there is no stream, and why.
func (w *watcher) broken() (since time.Time, cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.since, w.cause
}

// Routes, Waker and Loads are the parts of AppRouteService that the gateway uses; its generated client is all of them.
type (
	// Routes tells where requests go.
	Routes interface {
		WatchRoutes(ctx context.Context, r *enginev1.WatchRoutesRequest) (*connect.ServerStreamForClient[enginev1.WatchRoutesResponse], error)
	}
	// Waker starts apps that sleep.
	Waker interface {
		WakeApp(ctx context.Context, r *enginev1.WakeAppRequest) (*enginev1.WakeAppResponse, error)
	}
	// Loads takes reports.
	Loads interface {
		ReportLoad(ctx context.Context, r *enginev1.ReportLoadRequest) (*enginev1.ReportLoadResponse, error)
	}
)
