package audit

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

const (
	// keepEvery is how often the keeper makes a pass.
	keepEvery = time.Minute
	// lostAfter is after how long a call that was begun counts as lost with its process. Changes end within seconds.
	lostAfter = 10 * time.Minute
	// madeAfter is after how long the record of a change that was made counts as forgotten: its process adds it to the chain at once.
	madeAfter = time.Minute
	// step bounds a transaction of the keeper.
	step = 1000
	// leaseName and leaseLength are those of the lease of the keeper.
	leaseName   = "audit"
	leaseLength = time.Minute
)

// lost is the outcome of a call that has no end.
var lost = store.AuditEvent{
	Outcome: "unknown",
	Error:   "the process that handled the call died, or lost the database, before it recorded the end: the change may have been made or not",
}

// keeper ends calls whose process died, and removes events that are old enough.
type keeper struct {
	store   *store.Store
	clock   clock.Clock
	keepFor time.Duration
}

// NewKeeper returns the loop that keeps the record in order; one replica runs it.
func NewKeeper(s *store.Store, leases leased.Leases, keepFor time.Duration, clk clock.Clock, log zerolog.Logger) lifecycle.Part {
	k := &keeper{store: s, clock: clk, keepFor: keepFor}
	return &leased.Loop{
		Leases: leases, Name: leaseName, Length: leaseLength, Work: leased.Every(clk, keepEvery, k.pass), Logger: log,
	}
}

func (k *keeper) pass(ctx context.Context) error {
	now := k.clock.Now()
	_, err := leased.Drain(step, func(size int) (int, error) {
		return k.store.EndLostAudit(ctx, store.LostAudit{Made: now.Add(-madeAfter), Begun: now.Add(-lostAfter), End: lost}, size, Seal)
	})
	if err != nil {
		return err
	}
	_, err = leased.Drain(step, func(size int) (int, error) { return k.store.TrimAudit(ctx, now.Add(-k.keepFor), size) })
	return err
}
