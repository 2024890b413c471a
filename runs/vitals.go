package runs

import (
	"context"
	"errors"
	"time"

	"github.com/flyte-binary/flyte-binary/runs/admission"
	"github.com/flyte-binary/flyte-binary/runs/artifactlink"
	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/problems"
	"github.com/flyte-binary/flyte-binary/runs/rollup"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
	"github.com/flyte-binary/flyte-binary/runs/timers"
	"github.com/flyte-binary/flyte-binary/runs/tracked"
	"github.com/flyte-binary/flyte-binary/runs/watch"
	"github.com/flyte-binary/flyte-binary/runs/webhook"
)

// Vitals describe how well the service works.
type Vitals struct {
	// Watches are those of this process.
	Watches watch.Vitals
	// Unwritten is how many changes wait in this process to be stored.
	Unwritten int
	// OldestWrite is how long the oldest change without an answer has waited to be stored.
	OldestWrite time.Duration
	// Store describes the database.
	Store worklists.Vitals
	// Loops are those that run once in an installation.
	Loops []LoopVitals
}

// LoopVitals says whether a loop runs somewhere.
type LoopVitals struct {
	// Name is that of its lease.
	Name string
	// Held says that a process holds the lease; Here, that it is this one.
	Held, Here bool
	// Until is when the current or last lease ends; the zero time when it was never held.
	Until time.Time
}

// Vitals collects all parts. A part that fails stays empty.
func (s *Service) Vitals(ctx context.Context) (Vitals, error) {
	v := Vitals{Unwritten: s.writer.Waiting(), OldestWrite: s.OldestWrite()}
	now := s.clock.Now()
	var failures [2]error
	v.Watches, failures[0] = s.hub.Vitals(ctx)
	v.Store, failures[1] = worklists.ReadVitals(ctx, s.pool, now)
	if failures[1] == nil {
		v.Loops = s.loopVitals(v.Store.Leases, now)
	}
	return v, errors.Join(failures[:]...)
}

// loopVitals says of each loop whether a process holds its lease.
func (s *Service) loopVitals(leases []worklists.Lease, now time.Time) []LoopVitals {
	names := s.loopLeases()
	loops := make([]LoopVitals, len(names))
	for i, name := range names {
		loops[i].Name = name
		for _, lease := range leases {
			if lease.Name == name {
				loops[i].Until, loops[i].Held = lease.ExpiresAt, lease.ExpiresAt.After(now)
				loops[i].Here = loops[i].Held && lease.Holder == s.replica
			}
		}
	}
	return loops
}

// OldestWrite is how long the oldest change without an answer has waited to be stored; 0 when none waits.
func (s *Service) OldestWrite() time.Duration { return s.writer.Oldest() }

// OldestStart is how long the oldest admitted action has waited for its cluster to begin with it; 0 when none waits.
func (s *Service) OldestStart(ctx context.Context) (time.Duration, error) {
	at, err := worklists.OldestStart(ctx, s.pool)
	if err != nil || at.IsZero() {
		return 0, err
	}
	return s.clock.Now().Sub(at), nil
}

// loopLeases are the leases of the loops that always run somewhere. That of retention is held only while it deletes.
func (s *Service) loopLeases() []string {
	names := []string{admission.LeaseName, timers.LeaseName, webhook.LeaseName, cachelink.LeaseName, artifactlink.LeaseName, artifactlink.UsesLeaseName, problems.LeaseName, rollup.LeaseName}
	if s.handlers.tracked != nil {
		names = append(names, tracked.LeaseName)
	}
	return names
}
