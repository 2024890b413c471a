package apps

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/apps/rollout"
	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
)

const (
	// perPass is how many due apps one pass picks up. The rest follows in the next pass, so that a pass is short
	// even after an outage that made all apps due.
	perPass = 1000
	// cleanEvery is how often old traffic is deleted.
	cleanEvery = time.Minute
)

// autoscaler decides again about apps whose time has come and about those that have requests. It runs on the replica that
// has its lease.
type autoscaler struct {
	*handler
	clock clock.Clock
}

// work makes passes until its context ends.
func (s *autoscaler) work(ctx context.Context) error {
	p := &pass{handler: s.handler, since: s.clock.Now()}
	return leased.Every(s.clock, s.config.Interval, p.run)(ctx)
}

// pass is what one holder of the lease remembers between passes.
type pass struct {
	*handler
	// since is when it got the lease. Reports of the time before may be missing.
	since time.Time
	// cleaned is when old traffic was deleted, last when the last pass began.
	cleaned, last time.Time
	// spread is when the apps that run in several clusters were looked at.
	spread time.Time
}

func (p *pass) run(ctx context.Context) error {
	now := p.clock.Now()
	if now.Before(p.last) { // the clock was set back: what was to come at a time may be far away now
		p.since, p.cleaned = now, now
		if err := p.store.NudgeAll(ctx, now); err != nil {
			return err
		}
	}
	p.last = now
	// An installation without apps costs one lookup per pass.
	if some, err := p.store.Any(ctx); err != nil || !some {
		return err
	}
	// Before the apps that are due: their decision depends on which clusters are silent.
	silent, err := p.store.Silence(ctx, now.Add(-p.config.SilentAfter))
	if err != nil {
		return err
	}
	for _, cluster := range silent {
		zerolog.Ctx(ctx).Warn().Str("cluster", cluster).Msg("deployer of a cluster stopped reporting; its apps are not scaled")
		if err := p.store.Nudge(ctx, cluster, now); err != nil {
			return err
		}
	}
	if err := p.relocate(ctx); err != nil {
		return err
	}
	loads, err := p.store.Loads(ctx, now.Add(-p.config.LoadExpiry), now)
	if err != nil {
		return err
	}
	due, err := p.store.Due(ctx, now, perPass)
	if err != nil {
		return err
	}
	if err := p.lookAt(ctx, due, loads); err != nil {
		return err
	}
	if now.Sub(p.cleaned) >= cleanEvery {
		p.cleaned = now
		return p.store.Forget(ctx, now.Add(-keptTraffic), now.Add(-maxScaledown-keptTraffic))
	}
	return nil
}

// lookAt decides about the apps that are due and those that have requests. The latter are looked at in every pass:
// their load may ask for more replicas at any time.
func (p *pass) lookAt(ctx context.Context, due []int64, loads map[int64]store.Load) error {
	ids := slices.Sorted(maps.Keys(loads))
	for _, id := range due {
		if _, busy := loads[id]; !busy {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	known, err := p.facts(ctx)
	if err != nil {
		return err
	}
	known.now = p.last // when the loads were read; this process may have been suspended since
	last, err := p.store.LastBusy(ctx, due)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(ids, perRead) {
		if err := p.decideAll(ctx, part, reported{loads, last}, known); err != nil {
			return err
		}
	}
	return nil
}

// reported is what gateways have reported about apps: the load now, and when there was some last.
type reported struct {
	loads map[int64]store.Load
	last  map[int64]time.Time
}

// decideAll decides without a lock first, because most apps stay as they are. Only those that would change are read
// again under lock, and the decision under lock counts.
func (p *pass) decideAll(ctx context.Context, ids []int64, by reported, known facts) error {
	rows, err := p.store.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	decide := func(rows []*store.App) (changes []store.Change) {
		for _, a := range rows {
			change, changed, err := p.decide(a, p.with(known, a, by))
			if err != nil {
				zerolog.Ctx(ctx).Error().Err(err).Str("app", a.Key.String()).Msg("cannot decide the rollout of an app; skipping it")
				// Without a next time, the app is not picked up in every pass. A change of the app decides it again.
				a.NextAt = nil
				changed = true
			}
			if changed {
				changes = append(changes, change)
			}
		}
		return changes
	}
	var ripe []int64
	for _, change := range decide(rows) {
		ripe = append(ripe, change.App.ID)
	}
	if len(ripe) == 0 {
		return nil
	}
	return p.store.Change(ctx, store.ByIDs(ripe...), func(rows []*store.App) ([]store.Change, error) { return decide(rows), nil })
}

// with adds the load of an app to what is known. The load is unknown while reports may be missing: for one LoadExpiry
// after this replica got the lease, an app without a report may only be one whose gateway has not reported yet. It must
// not be scaled down for that.
func (p *pass) with(known facts, a *store.App, by reported) facts {
	load, busy := by.loads[a.ID]
	if busy || known.now.Sub(p.since) >= p.config.LoadExpiry {
		known.load = &rollout.Load{Concurrency: load.Concurrency, Rate: load.Rate, Busy: load.Busy, BusyAt: by.last[a.ID]}
	}
	return known
}
