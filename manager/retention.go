package manager

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/retention"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// OpenRetention opens only the part that deletes old runs. It uses the database and the object store, and is safe alongside
// running servers. Whether retention is enabled does not matter here. close must be called.
func OpenRetention(ctx context.Context, c configuration.Config, log zerolog.Logger) (keeper *retention.Keeper, closing func(), failure error) {
	for _, section := range []struct {
		name     string
		validate func() error
	}{{"database", c.Database.Validate}, {"storage", c.Storage.Validate}, {"runs.retention", c.Runs.Retention.Validate}} {
		if err := section.validate(); err != nil {
			return nil, nil, &configuration.ConfigError{Cause: fmt.Errorf("%s.%w", section.name, err)}
		}
	}
	if c.Runs.Retention.MaxAge == 0 && c.Runs.Retention.MaxRuns == 0 {
		return nil, nil, &configuration.ConfigError{Cause: errors.New("runs.retention.maxAge: set it or runs.retention.maxRuns; without a limit all runs are kept")}
	}
	pool, err := pgdb.Open(ctx, c.Database)
	if err != nil {
		return nil, nil, diagnose.Database(c.Database, err)
	}
	blobs, err := blobstore.Open(ctx, c.Storage)
	if err != nil {
		pool.Close()
		return nil, nil, diagnose.Storage(c.Storage, err)
	}
	tracked, err := pgdb.OpenNamespace(ctx, pool, store.TrackedNamespace, 1)
	if err != nil {
		_ = blobs.Close() // nothing is written
		pool.Close()
		return nil, nil, err
	}
	closing = func() {
		tracked.Close()
		_ = blobs.Close()
		pool.Close()
	}
	namespace, err := pgdb.Namespace(ctx, pool)
	if err != nil {
		closing()
		return nil, nil, err
	}
	keeper, err = runs.NewRetention(c.Runs.Retention, runs.Deps{
		Pool: pool, Tracked: tracked, Blobs: blobs, Logger: log,
		Retention: runs.Retention{Namespace: namespace, InUse: inUse(namespace)},
	})
	if err != nil {
		closing()
		return nil, nil, err
	}
	return keeper, closing, nil
}
