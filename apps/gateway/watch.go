package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/loglimit"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// maxSilence is how long the stream of routes may bring nothing, not even heartbeats.
const maxSilence = 90 * time.Second

var errSilent = errors.New("no heartbeat")

// watcher follows the stream of routes. During an outage of the apps service the last routes stay in force.
type watcher struct {
	gateway string
	source  Routes
	routes  *routes
	clock   clock.Clock
	log     zerolog.Logger
	lines   *loglimit.Limit

	mu    sync.Mutex
	since time.Time // GUARDED_BY(mu): when the stream broke; zero while it works
	cause error     // GUARDED_BY(mu)
}

func (w *watcher) run(ctx context.Context) {
	retries := backoff.New(50*time.Millisecond, 5*time.Second)
	for ctx.Err() == nil {
		whole, err := w.follow(ctx)
		if whole {
			retries.Reset()
		}
		if err == nil {
			retries.Reset()
		} else if ctx.Err() == nil {
			w.broke(err)
		}
		if clock.Sleep(ctx, w.clock, retries.Next()) != nil {
			return
		}
	}
}

// follow handles one stream. It returns whether a whole snapshot came.
func (w *watcher) follow(ctx context.Context) (whole bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(maxSilence, func() { cancel(errSilent) })
	defer silence.Stop()
	stream, err := w.source.WatchRoutes(ctx, &enginev1.WatchRoutesRequest{Gateway: w.gateway})
	if err != nil {
		return false, err
	}
	defer stream.Close() //nolint:errcheck // nothing is written
	snapshot := map[string]*enginev1.AppRoute{}
	for stream.Receive() {
		silence.Reset(maxSilence)
		switch m := stream.Msg().GetMessage().(type) {
		case *enginev1.WatchRoutesResponse_Route:
			if whole {
				w.routes.set(m.Route)
			} else {
				snapshot[m.Route.GetUid()] = m.Route
			}
		case *enginev1.WatchRoutesResponse_Removed:
			if whole {
				w.routes.remove(m.Removed.GetUid())
			} else {
				delete(snapshot, m.Removed.GetUid())
			}
		case *enginev1.WatchRoutesResponse_Sentinel:
			if !whole {
				whole = true
				w.routes.replace(snapshot)
				snapshot = nil
				w.works()
			}
		}
	}
	if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
		return whole, cause
	}
	return whole, stream.Err()
}

func (w *watcher) broke(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cause = err
	if w.since.IsZero() {
		w.since = w.clock.Now()
	}
	if suppressed, ok := w.lines.Allow("routes"); ok {
		w.log.Warn().Err(err).Int("suppressed", suppressed).Msg("the stream of routes broke; the last ones stay in force")
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
