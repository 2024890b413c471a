package runs

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/retention"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/deletions"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
)

// NewRetention returns the part that deletes old runs, for use without the service.
func NewRetention(config retention.Config, deps Deps) (*retention.Keeper, error) {
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	return newRetention(config, deps, rand.Text())
}

func newRetention(config retention.Config, deps Deps, replica string) (*retention.Keeper, error) {
	own := deletions.Deps{Pool: deps.Pool, Replica: replica, InUse: deps.Retention.InUse}
	var trackedRuns retention.Store
	if deps.Tracked != nil {
		own.InUse = append(slices.Clone(deps.Retention.InUse), deletions.StartedWithin(store.TrackedNamespace))
		trackedRuns = deletions.New(deletions.Deps{
			Pool: deps.Tracked, Replica: replica, Channel: notices.ChannelTracked,
			InUse: append(slices.Clone(deps.Retention.InUse), deletions.StartedWithin(cmp.Or(deps.Retention.Namespace, "public"))),
		})
	}
	return retention.New(config, retention.Deps{
		Store: deletions.New(own), Tracked: trackedRuns, Blobs: deps.Blobs,
		Leases: pgdb.NewLeases(deps.Pool, deps.Clock, replica),
		Forget: func(ctx context.Context, run ident.Run) error {
			if deps.Retention.RunDeleted == nil {
				return nil
			}
			return deps.Retention.RunDeleted(ctx, run)
		},
		Clock: deps.Clock, Logger: deps.Logger.With().Str("service", "retention").Logger(), Meter: deps.Meter,
	})
}
