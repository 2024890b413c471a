package retention

import (
	"context"
	"errors"
	"fmt"

	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Preview is what a sweep would delete now. It does not count a run that only expired runs use, which goes after
// them.
type Preview struct {
	// First has the first of these runs, scope by scope, oldest first.
	First []store.ExpiredRun
	// Runs and Actions are the total counts.
	Runs, Actions int64
	// Enabled says that sweeps run automatically.
	Enabled bool
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// Preview returns what a sweep would delete now, and deletes nothing. First has at most limit runs.
func (k *Keeper) Preview(ctx context.Context, limit int) (Preview, error) {
	p := Preview{Enabled: k.config.Enabled && !k.config.DryRun}
	if !k.config.limited() {
		return p, nil
	}
	err := k.each(ctx, func(run store.ExpiredRun) error {
		if len(p.First) >= limit {
			return errEnough
		}
		p.First = append(p.First, run)
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return p, err
	}
	scopes, err := k.deps.Store.Scopes(ctx)
	if err != nil {
		return p, err
	}
	expiry := k.expiry()
	for _, scope := range scopes {
		cut, err := k.deps.Store.Cut(ctx, scope, expiry.Keep)
		if err != nil {
			return p, err
		}
		runs, actions, err := k.deps.Store.CountExpired(ctx, scope, expiry, cut)
		if err != nil {
			return p, err
		}
		p.Runs, p.Actions = p.Runs+runs, p.Actions+actions
	}
	return p, nil
}

// Reason says why a run would be deleted.
func (k *Keeper) Reason(run store.ExpiredRun) string {
	if run.Surplus {
		return fmt.Sprintf("there are %d younger runs in %s/%s", k.config.MaxRuns, run.Run.Project, run.Run.Domain)
	}
	return fmt.Sprintf("it ended more than %s ago", k.config.MaxAge)
}
