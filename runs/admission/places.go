package admission

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Clusters says which clusters there are, and when each last reported, by its name.
type Clusters interface {
	Clusters(ctx context.Context) ([]placement.Cluster, map[string]time.Time, error)
}

// Held reads actions that wait for a cluster; asks.Reader does.
type Held interface {
	Held(ctx context.Context, after int64, limit int) ([]asks.Asked, error)
}

// Releaser puts actions back into the queue; store.Writer does.
type Releaser interface {
	Release(ctx context.Context, waiting []store.Queued) (int, error)
}

// PlacesDeps are the dependencies of Places.
type PlacesDeps struct {
	Book     *placement.Book
	Clusters Clusters
	// Changed receives when they are to be read at once; nil means that they are read once a second.
	Changed <-chan struct{}
	Held    Held
	Writer  Releaser
	// Admits reports whether this replica admits; others leave waiting actions alone.
	Admits func() bool
	Clock  clock.Clock
	Logger zerolog.Logger
}

const (
	// refresh is how often the states of clusters are read.
	refresh = time.Second
	// heldPage is how many waiting actions are read at once, and maxHeld how many each time.
	heldPage = 1000
	maxHeld  = 20 * heldPage
)

// Places keeps the book of clusters, and puts actions back into the queue for which a cluster has room.
type Places struct {
	lifecycle.Background
	deps PlacesDeps
	idle bool // no action waits, and none can begin to
}

var _ lifecycle.Part = (*Places)(nil)

// NewPlaces returns the part; it does nothing before Start.
func NewPlaces(deps PlacesDeps) *Places { return &Places{deps: deps} }

// Start implements lifecycle.Part. When it returns, the clusters are known, unless they cannot be read.
func (p *Places) Start(ctx context.Context) error {
	if err := p.Refresh(ctx); err != nil {
		p.deps.Book.Unread()
		p.deps.Logger.Warn().Err(err).Msg("reading the states of clusters failed; retrying")
	}
	return p.Run(p.deps.Logger.WithContext(ctx), p.keep)
}

func (p *Places) keep(ctx context.Context) {
	for p.wait(ctx) == nil {
		err := p.Refresh(ctx)
		if err == nil && p.deps.Admits() {
			_, err = p.Release(ctx)
		}
		if err != nil && ctx.Err() == nil {
			p.deps.Logger.Warn().Err(err).Msg("placing waiting actions failed; retrying")
		}
	}
}

// wait returns when the clusters are to be read again, or an error if ctx ends.
func (p *Places) wait(ctx context.Context) error {
	timer := p.deps.Clock.NewTimer(refresh)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-p.deps.Changed:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Refresh reads the states of all clusters.
func (p *Places) Refresh(ctx context.Context) error {
	clusters, seen, err := p.deps.Clusters.Clusters(ctx)
	if err != nil {
		return err
	}
	p.deps.Book.Report(p.deps.Clock.Now(), clusters, seen)
	return nil
}

// Release puts the oldest actions back into the queue that a cluster has room for now, and returns how many. What they ask for counts
// one after the other, so that no more return than have room.
func (p *Places) Release(ctx context.Context) (released int, err error) {
	_, sole := p.deps.Book.Sole()
	if sole && p.idle {
		return 0, nil
	}
	round, read := p.deps.Book.Begin(), 0
	for after := int64(0); read < maxHeld; {
		held, err := p.deps.Held.Held(ctx, after, heldPage)
		if err != nil {
			return released, err
		}
		var fit []store.Queued
		for _, one := range held {
			after = one.ID
			if sole || round.Choose(one.ID, one.Request).Cluster != "" {
				fit = append(fit, store.Queued{RunID: one.RunID, ID: one.ID})
			}
		}
		n, err := p.deps.Writer.Release(ctx, fit)
		released += n
		read += len(held)
		if err != nil || len(held) < heldPage {
			p.idle = err == nil && sole
			return released, err
		}
	}
	return released, nil
}
