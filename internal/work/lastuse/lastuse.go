// Package lastuse records when credentials were used last, once a minute, so that a call with one does not write.
package lastuse

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// every is how often uses are stored.
const every = time.Minute

// Uses remembers uses and stores them. It is safe for concurrent use.
type Uses struct {
	lifecycle.Background
	what  string
	store func(ctx context.Context, used map[string]time.Time) error
	clock clock.Clock
	log   zerolog.Logger

	mu   sync.Mutex
	used map[string]time.Time // GUARDED_BY(mu): since it was stored last
}

var _ lifecycle.Part = (*Uses)(nil)

// New returns the uses of credentials, with their name in the plural for the log. store gets when each was used last, by its id.
func New(what string, store func(ctx context.Context, used map[string]time.Time) error, clk clock.Clock, log zerolog.Logger) *Uses {
	return &Uses{what: what, store: store, clock: clk, log: log, used: map[string]time.Time{}}
}

// Used notes that a credential is used now.
func (u *Uses) Used(id string) {
	now := u.clock.Now()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.used[id] = now
}

// Start stores uses, once a minute.
func (u *Uses) Start(ctx context.Context) error { return u.Run(u.log.WithContext(ctx), u.record) }

// Stop stores what was used since.
func (u *Uses) Stop(ctx context.Context) error {
	return errors.Join(u.Background.Stop(ctx), u.flush(ctx))
}

func (u *Uses) record(ctx context.Context) {
	for clock.Sleep(ctx, u.clock, every) == nil {
		if err := u.flush(ctx); err != nil && ctx.Err() == nil {
			u.log.Warn().Err(err).Msg("cannot record the last use of " + u.what + "; retrying")
		}
	}
}

func (u *Uses) flush(ctx context.Context) error {
	u.mu.Lock()
	used := u.used
	u.used = map[string]time.Time{}
	u.mu.Unlock()
	if len(used) == 0 {
		return nil
	}
	return u.store(ctx, used)
}
