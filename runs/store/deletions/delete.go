package deletions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
)

// Deletion is a run that is being deleted.
type Deletion struct {
	RunID      int64
	Run        ident.Run
	OutputBase string
	BlobsGone  bool
}

// Mark hides a run, if it is still finished and unused; otherwise it returns false. Its rows are unreachable from
// then on and wait to be deleted.
func (r *Store) Mark(ctx context.Context, runID int64, now time.Time) (marked bool, err error) {
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		// What starts to point to the run now waits, or was committed and is seen below.
		if err := pgdb.LockRetention(ctx, tx); err != nil {
			return err
		}
		// Every writer to the run takes this lock, and finds nothing after this transaction.
		const lock = `SELECT id FROM actions WHERE id = $1 AND parent_name IS NULL AND ended_at IS NOT NULL FOR UPDATE`
		var id int64
		err := tx.QueryRow(ctx, lock, runID).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO run_deletions (run_id, project, domain, run_name, output_base, marked_at)
			SELECT a.id, a.project, a.domain, a.run_name, a.run_output_base, $2 FROM actions a WHERE a.id = $1 AND `+r.isFree, runID, now)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		var statements pgx.Batch
		statements.Queue(`
			INSERT INTO spec_candidates SELECT DISTINCT digest FROM actions, unnest(ARRAY[spec_digest, run_spec_digest]) AS digest
			WHERE id = $1 AND digest IS NOT NULL ON CONFLICT DO NOTHING`, runID)
		statements.Queue(`DELETE FROM actions WHERE id = $1`, runID)
		// In this order: uses are recorded only for inputs that are still in the list.
		statements.Queue(`DELETE FROM unread_inputs WHERE run_id = $1`, runID)
		statements.Queue(`DELETE FROM artifact_uses WHERE run_id = $1`, runID)
		statements.Queue(`DELETE FROM produced_outputs WHERE run_id = $1`, runID)
		for _, payload := range notices.Payloads(r.replica+" ", []int64{runID}) {
			statements.Queue(notices.Notify, r.channel, payload)
		}
		marked = true
		return tx.SendBatch(ctx, &statements).Close()
	})
	if err != nil {
		return false, fmt.Errorf("mark run %d for deletion: %w", runID, err)
	}
	return marked, nil
}

// Unfinished reads incomplete deletions, oldest first, after one of them; 0 is before the first.
func (r *Store) Unfinished(ctx context.Context, after int64, limit int) ([]Deletion, error) {
	rows, err := r.pool.Query(ctx, `
		SELECT run_id, project, domain, run_name, output_base, blobs_gone_at IS NOT NULL FROM run_deletions
		WHERE rows_gone_at IS NULL AND run_id > $1 ORDER BY run_id LIMIT $2`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read deletions: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Deletion, error) {
		var d Deletion
		return d, row.Scan(&d.RunID, &d.Run.Project, &d.Run.Domain, &d.Run.Name, &d.OutputBase, &d.BlobsGone)
	})
	if err != nil {
		return nil, fmt.Errorf("read deletions: %w", err)
	}
	return found, nil
}

// BlobsGone records that the blobs of a run are deleted.
func (r *Store) BlobsGone(ctx context.Context, runID int64, now time.Time) error {
	if _, err := r.pool.Exec(ctx, `UPDATE run_deletions SET blobs_gone_at = $2 WHERE run_id = $1`, runID, now); err != nil {
		return fmt.Errorf("record that the blobs of run %d are deleted: %w", runID, err)
	}
	return nil
}

// DeleteRows deletes some of the rows of a marked run and returns how many; 0 means that none are left.
func (r *Store) DeleteRows(ctx context.Context, runID int64, limit int) (int, error) {
	tag, err := r.pool.Exec(ctx, `
		DELETE FROM action_events WHERE run_id = $1 AND EXISTS (SELECT FROM run_deletions WHERE run_id = $1)
		AND seq = ANY(ARRAY(SELECT seq FROM action_events WHERE run_id = $1 ORDER BY seq LIMIT $2))`, runID, limit)
	if err != nil {
		return 0, fmt.Errorf("delete events of run %d: %w", runID, err)
	}
	if deleted := int(tag.RowsAffected()); deleted > 0 {
		return deleted, nil
	}
	var deleted int
	err = r.pool.QueryRow(ctx, `
		WITH gone AS (
			DELETE FROM actions WHERE parent_name IS NOT NULL AND EXISTS (SELECT FROM run_deletions WHERE run_id = $1)
			AND id = ANY(ARRAY(SELECT id FROM actions WHERE run_id = $1 ORDER BY created_at, id LIMIT $2))
			RETURNING spec_digest
		), noted AS (
			INSERT INTO spec_candidates SELECT DISTINCT spec_digest FROM gone WHERE spec_digest IS NOT NULL ON CONFLICT DO NOTHING
		)
		SELECT count(*) FROM gone`, runID, limit).Scan(&deleted)
	if err != nil {
		return 0, fmt.Errorf("delete actions of run %d: %w", runID, err)
	}
	return deleted, nil
}

// RowsGone records that all rows of a run are deleted.
func (r *Store) RowsGone(ctx context.Context, runID int64, now time.Time) error {
	if _, err := r.pool.Exec(ctx, `UPDATE run_deletions SET rows_gone_at = $2 WHERE run_id = $1`, runID, now); err != nil {
		return fmt.Errorf("record that the rows of run %d are deleted: %w", runID, err)
	}
	return nil
}

// FreeNames frees the names of runs whose deletion was complete before a time.
func (r *Store) FreeNames(ctx context.Context, before time.Time) error {
	if _, err := r.pool.Exec(ctx, `DELETE FROM run_deletions WHERE rows_gone_at < $1`, before); err != nil {
		return fmt.Errorf("free the names of deleted runs: %w", err)
	}
	return nil
}
