package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// LogDeletion is a row of app_log_deletions: stored logs that are no longer referred to.
type LogDeletion struct {
	Project, Domain, UID string
	// Replica is empty for all logs of a deleted app.
	Replica   string
	CreatedAt time.Time
}

// queueForgotten forgets all but the newest ended replicas of an app, and makes their logs due for deletion.
func queueForgotten(batch *pgx.Batch, id int64, now time.Time) {
	batch.Queue(`
		WITH forgotten AS (
			DELETE FROM app_replicas WHERE app_id = $1 AND name IN
				(SELECT name FROM app_replicas WHERE app_id = $1 ORDER BY gone_at DESC, name OFFSET $2) RETURNING name)
		INSERT INTO app_log_deletions (project, domain, uid, replica, created_at, due_at)
		SELECT a.project, a.domain, a.uid, f.name, $3, $3 FROM forgotten f, apps a WHERE a.id = $1
		ON CONFLICT DO NOTHING`, id, keptReplicas, now)
}

// queueLogsOf makes all logs of a deleted app due for deletion.
func queueLogsOf(batch *pgx.Batch, key Key, uid string, now time.Time) {
	batch.Queue(`DELETE FROM app_log_deletions WHERE project = $1 AND domain = $2 AND uid = $3`, key.Project, key.Domain, uid)
	batch.Queue(`INSERT INTO app_log_deletions (project, domain, uid, replica, created_at, due_at) VALUES ($1, $2, $3, '', $4, $4)`,
		key.Project, key.Domain, uid, now)
}

// DueLogDeletions returns at most limit deletions that are due, oldest first.
func (s *Store) DueLogDeletions(ctx context.Context, now time.Time, limit int) ([]LogDeletion, error) {
	rows, err := s.pool.Query(ctx, `SELECT project, domain, uid, replica, created_at FROM app_log_deletions WHERE due_at <= $1
		ORDER BY due_at LIMIT $2`, now, limit)
	if err == nil {
		var due []LogDeletion
		due, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d LogDeletion, err error) {
			return d, row.Scan(&d.Project, &d.Domain, &d.UID, &d.Replica, &d.CreatedAt)
		})
		if err == nil {
			return due, nil
		}
	}
	return nil, fmt.Errorf("read the logs to delete: %w", err)
}

// PostponeLogDeletion makes a deletion due again at a later time.
func (s *Store) PostponeLogDeletion(ctx context.Context, d LogDeletion, until time.Time) error {
	return s.updateLogDeletion(ctx, `UPDATE app_log_deletions SET due_at = $5 WHERE project = $1 AND domain = $2 AND uid = $3 AND replica = $4`,
		d.Project, d.Domain, d.UID, d.Replica, until)
}

// FinishLogDeletion removes a deletion that is complete.
func (s *Store) FinishLogDeletion(ctx context.Context, d LogDeletion) error {
	return s.updateLogDeletion(ctx, `DELETE FROM app_log_deletions WHERE project = $1 AND domain = $2 AND uid = $3 AND replica = $4`,
		d.Project, d.Domain, d.UID, d.Replica)
}

func (s *Store) updateLogDeletion(ctx context.Context, statement string, args ...any) error {
	if _, err := s.pool.Exec(ctx, statement, args...); err != nil {
		return fmt.Errorf("record the deletion of logs: %w", err)
	}
	return nil
}
