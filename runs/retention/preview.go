package retention

import (
	"context"
	"errors"
	"fmt"

	"github.com/flyte-binary/flyte-binary/runs/store/deletions"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Preview is what a sweep would delete now. It does not count a run that only expired runs use, which goes after
// them.
type Preview struct {
	// First has the first of these runs, those of the installation before tracked ones, scope by scope, oldest first.
	First []ExpiredRun
	// Runs and Actions are the total counts.
	Runs, Actions int64
	// Enabled says that sweeps run automatically.
	Enabled bool
}

// ExpiredRun is a run that a sweep would delete.
type ExpiredRun struct {
	deletions.ExpiredRun
	Tracked bool
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

// Preview returns what a sweep would delete now, and deletes nothing. First has at most limit runs.
func (k *Keeper) Preview(ctx context.Context, limit int) (Preview, error) {
	p := Preview{Enabled: k.config.Enabled && !k.config.DryRun}
	if !k.config.limited() {
		return p, nil
	}
	for _, of := range k.kinds {
		if err := k.preview(ctx, of, limit, &p); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (k *Keeper) preview(ctx context.Context, of kind, limit int, p *Preview) error {
	err := k.each(ctx, of, func(run deletions.ExpiredRun) error {
		if len(p.First) >= limit {
			return errEnough
		}
		p.First = append(p.First, ExpiredRun{ExpiredRun: run, Tracked: of.tracked})
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	expiry := k.expiry()
	return of.eachScope(ctx, expiry, func(scope schema.Scope, cut deletions.Cut) error {
		runs, actions, err := of.store.CountExpired(ctx, scope, expiry, cut)
		p.Runs, p.Actions = p.Runs+runs, p.Actions+actions
		return err
	})
}

// Reason says why a run would be deleted.
func (k *Keeper) Reason(run ExpiredRun) string {
	if run.Surplus {
		return fmt.Sprintf("there are %d younger runs in %s/%s", k.config.MaxRuns, run.Run.Project, run.Run.Domain)
	}
	return fmt.Sprintf("it ended more than %s ago", k.config.MaxAge)
}
