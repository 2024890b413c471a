package apipace

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// The first and the longest pause that all writers make after a late call.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 5 * time.Second
)

// Gate bounds how many calls are under way at once. A late call halves the bound and makes all calls pause; calls in time
// raise it again, step by step. So writers to an overloaded API server wait here, instead of keeping it busy with calls
// that have run out of time. It is safe for concurrent use.
type Gate struct {
	clock clock.Clock
	least float64
	most  float64

	mu       sync.Mutex
	bound    float64         // GUARDED_BY(mu)
	busy     int             // GUARDED_BY(mu)
	waiting  []chan struct{} // GUARDED_BY(mu): closed when it is their turn, which counts as busy
	halved   int             // GUARDED_BY(mu): how often the bound was halved
	resume   time.Time       // GUARDED_BY(mu): no call begins earlier
	failures int             // GUARDED_BY(mu): late calls since the last one in time
}

// NewGate returns a gate that is as open as it ever is. The bound stays between least and most.
func NewGate(clk clock.Clock, least, most int) *Gate {
	return &Gate{clock: clk, least: float64(least), most: float64(most), bound: float64(most)}
}

// Bound is how many calls may be under way at once now.
func (g *Gate) Bound() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int(g.bound)
}

// Do makes a call when it is its turn, first come first served. The call reports whether it had no answer; one that takes
// longer than LateAfter is late anyway. Do returns the error of ctx if that ends before the turn comes.
func (g *Gate) Do(ctx context.Context, call func() (late bool)) error {
	if err := g.enter(ctx); err != nil {
		return err
	}
	late, began := false, g.clock.Now()
	g.mu.Lock()
	halved := g.halved
	g.mu.Unlock()
	defer func() { g.leave(halved, late || g.clock.Now().Sub(began) > LateAfter) }()
	late = call()
	return nil
}

// enter waits for the turn of a call, and then for the end of the pause.
func (g *Gate) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	if g.busy < int(g.bound) && len(g.waiting) == 0 {
		g.busy++
		g.mu.Unlock()
	} else {
		turn := make(chan struct{})
		g.waiting = append(g.waiting, turn)
		g.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			g.abandon(turn)
			return ctx.Err()
		}
	}
	g.mu.Lock()
	pause := g.resume.Sub(g.clock.Now())
	g.mu.Unlock()
	if pause <= 0 {
		return nil
	}
	if err := clock.Sleep(ctx, g.clock, pause); err != nil {
		g.free()
		return err
	}
	return nil
}

// abandon gives up a place in the line, or the turn that came meanwhile.
func (g *Gate) abandon(turn chan struct{}) {
	g.mu.Lock()
	i := slices.Index(g.waiting, turn)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	g.mu.Unlock()
	if i < 0 {
		g.free()
	}
}

// leave ends a call that began when the bound had been halved so often. Calls that were under way together halve it once.
func (g *Gate) leave(halved int, late bool) {
	g.mu.Lock()
	switch {
	case !late:
		g.failures = 0
		g.bound = min(g.most, g.bound+1/g.bound)
	case halved == g.halved:
		g.failures++
		g.halved++
		g.bound = max(g.least, g.bound/2)
		g.resume = g.clock.Now().Add(backoff.After(firstPause, maxPause, g.failures))
	}
	g.mu.Unlock()
	g.free()
}

// free ends a turn and begins as many others as there is room for.
func (g *Gate) free() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy--
	for g.busy < int(g.bound) && len(g.waiting) > 0 {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
		g.busy++
	}
}

// Wrap makes a transport whose writes pass the gate. Reads do not, nor do Leases: a replica that renews late loses its work.
func (g *Gate) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (response *http.Response, err error) {
		if request.Method == http.MethodGet || strings.Contains(request.URL.Path, "/leases") {
			return next.RoundTrip(request)
		}
		refused := g.Do(request.Context(), func() (late bool) {
			response, err = next.RoundTrip(request) //nolint:bodyclose // the caller gets it
			return unanswered(response, err)
		})
		if refused != nil {
			if request.Body != nil {
				_ = request.Body.Close()
			}
			return nil, refused
		}
		return response, err
	})
}
