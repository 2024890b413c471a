package apps

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
)

const (
	// deleteLogsEvery is how often stored logs that are due are deleted.
	deleteLogsEvery = 10 * time.Second
	// logDeletions is how many deletions one step takes.
	logDeletions = 100
	// lateLogs is how long after the deletion of an app a deployer may still store the log of a replica that is ending: it
	// copies a log for 10 minutes at most. The logs are deleted again then.
	lateLogs = 15 * time.Minute
	// retryLogDeletion is the pause after a deletion that failed.
	retryLogDeletion = time.Minute
)

// logCleaner deletes stored logs of deleted apps and of replicas that are no longer listed. The rows of what is left to
// delete were written with the change that orphaned the logs, so a crash at any point leaves none behind.
type logCleaner struct {
	store  *store.Store
	blobs  Blobs
	clock  clock.Clock
	meters *meters
}

// work makes passes until its context ends.
func (c *logCleaner) work(ctx context.Context) error {
	return leased.Every(c.clock, deleteLogsEvery, c.pass)(ctx)
}

// pass deletes everything that is due. What fails is retried later and does not hold up the rest.
func (c *logCleaner) pass(ctx context.Context) error {
	var failures []error
	_, err := leased.Drain(logDeletions, func(size int) (int, error) {
		due, err := c.store.DueLogDeletions(ctx, c.clock.Now(), size)
		if err != nil {
			return 0, err
		}
		for _, d := range due {
			err := c.delete(ctx, d)
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			c.meters.deletedLogs(ctx, err)
			if err != nil {
				failures = append(failures, err)
				if err := c.store.PostponeLogDeletion(ctx, d, c.clock.Now().Add(retryLogDeletion)); err != nil {
					return 0, err
				}
			}
		}
		return len(due), nil
	})
	return errors.Join(append(failures, err)...)
}

// delete deletes the log of one replica, or all logs of an app if the entry names no replica. What is not there counts
// as deleted: a pass may be repeated after a crash.
func (c *logCleaner) delete(ctx context.Context, d store.LogDeletion) error {
	var err error
	if d.Replica == "" {
		err = c.blobs.DeletePrefix(ctx, blobpath.AppLogs(c.blobs.Root(), d.Project, d.Domain, d.UID)+"/")
	} else {
		err = c.blobs.Delete(ctx, blobpath.AppLog(c.blobs.Root(), d.Project, d.Domain, d.UID, d.Replica))
	}
	if err != nil && !errors.Is(err, blobstore.ErrNotExist) {
		return fmt.Errorf("delete the logs of app %s: %w", d.UID, err)
	}
	if again := d.CreatedAt.Add(lateLogs); d.Replica == "" && c.clock.Now().Before(again) {
		return c.store.PostponeLogDeletion(ctx, d, again)
	}
	return c.store.FinishLogDeletion(ctx, d)
}
