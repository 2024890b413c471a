package gateway

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// reportEvery is how often the load is reported, while there is any.
	reportEvery = time.Second
	// reportMax is how many apps one report has at most.
	reportMax = 10_000
)

// book knows the apps with requests, so that idle apps cost nothing.
type book struct {
	mu     sync.Mutex
	active map[*app]struct{} // GUARDED_BY(mu)
}

// enter counts a request of an app that begins.
func (b *book) enter(a *app) {
	a.load.enter()
	if a.load.active.Load() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !a.load.active.Swap(true) {
		a.load.reported.at = uptime()
		b.active[a] = struct{}{}
	}
}

func (b *book) apps() []*app {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.active))
}

// retire forgets an app that has had no request since its last report.
func (b *book) retire(a *app) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a.load.active.Store(false)
	// One may have come since the count; it saw the app as active.
	if c := a.load.counts(); c.open > 0 || c.requests != a.load.reported.requests {
		a.load.active.Store(true)
		return
	}
	delete(b.active, a)
}

// reporter tells the apps service how much load there is.
type reporter struct {
	gateway string
	loads   Loads
	book    *book
	clock   clock.Clock
	log     zerolog.Logger

	sent bool // the last report had apps
}

func (r *reporter) run(ctx context.Context) {
	for clock.Sleep(ctx, r.clock, reportEvery) == nil {
		if err := r.report(ctx); err != nil && ctx.Err() == nil {
			r.log.Debug().Err(err).Msg("reporting load failed; the next report includes it")
		}
	}
}

// report sends what there is since the last report that was answered.
func (r *reporter) report(ctx context.Context) error {
	request := &enginev1.ReportLoadRequest{Gateway: r.gateway}
	counted := map[*app]counts{}
	for _, a := range r.book.apps() {
		c := a.load.counts()
		if c.open == 0 && c.requests == a.load.reported.requests {
			r.book.retire(a)
			continue
		}
		if len(counted) < reportMax {
			counted[a] = c
			request.Apps = append(request.Apps, c.since(a.uid, a.load.reported))
		}
	}
	if len(counted) == 0 && !r.sent {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if _, err := r.loads.ReportLoad(ctx, request); err != nil {
		return err
	}
	r.sent = len(counted) > 0
	for a, c := range counted {
		a.load.reported = c
	}
	return nil
}
