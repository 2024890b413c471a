package executor

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// presence finds out which plugins the cluster can serve. A manager cannot start, or stops, when an informer's type is
// missing: so it gets only the types that exist, and is replaced when others appear or disappear. The shards of a process
// share one presence, so that each type is probed once.
type presence struct {
	*probe
	interval time.Duration // between two probes
	clock    clock.Clock

	mu      sync.Mutex
	at      time.Time // GUARDED_BY(mu): of the last look; zero before the first
	missing []Absence // GUARDED_BY(mu): as of then
}

// changedError says that the plugins that can run are no longer those of the manager.
type changedError struct{ words string }

func (e *changedError) Error() string { return "the types of plugins changed: " + e.words }

// look returns the definitions of the plugins that can run and the plugins that cannot. An earlier answer counts while it is
// younger than maxAge.
func (p *presence) look(ctx context.Context, maxAge time.Duration) ([]plugin.Definition, []Absence, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.clock.Now(); p.at.IsZero() || now.Sub(p.at) >= maxAge || now.Before(p.at) {
		missing, err := p.absences(ctx)
		if err != nil {
			return nil, nil, err
		}
		p.at, p.missing = now, missing
	}
	var present []plugin.Definition
	for _, definition := range p.definitions {
		if !slices.ContainsFunc(p.missing, func(one Absence) bool { return one.Plugin == definition.Name }) {
			present = append(present, definition)
		}
	}
	return present, slices.Clone(p.missing), nil
}

// awaitChange returns a *changedError when other plugins than these cannot run, and nil when ctx ends.
func (p *presence) awaitChange(ctx context.Context, missing []Absence) error {
	for clock.Sleep(ctx, p.clock, p.interval) == nil {
		_, now, err := p.look(ctx, p.interval/2) // half: the shards look at about the same time
		switch {
		case err != nil: // Nothing is known. An API server that does not answer says nothing about types.
		case !slices.EqualFunc(now, missing, Absence.same):
			return &changedError{words: words(now)}
		}
	}
	return nil
}

func words(missing []Absence) string {
	if len(missing) == 0 {
		return "all plugins can run"
	}
	reasons := make([]string, len(missing))
	for i, one := range missing {
		reasons[i] = one.String()
	}
	return strings.Join(reasons, "; ")
}
