package lists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Failure is an action that failed or timed out, with the first bytes of its error.
type Failure struct {
	ID    int64
	Name  string
	At    time.Time // when it ended
	Error []byte    // the beginning of an encoded core.ExecutionError; empty when there is none
	// Parent is empty for a root. AboveFailed says that children of the action failed, too.
	Parent      string
	AboveFailed bool
}

// failureBytes is how much of an error is read to group failures by cause.
const failureBytes = 768

// failed are the phases of failed actions. The index of failures has the same list.
const failed = `phase IN ` + sqltext.FailedPhases

// EachFailure calls fn with at most limit failures of a run, in the order in which the actions were created, and
// returns the total number of failures. The bytes of a failure are valid only during the call.
func (r *Reader) EachFailure(ctx context.Context, runID int64, limit int, take func(Failure)) (total int, err error) {
	const query = `
		SELECT id, name, coalesce(ended_at, updated_at), substring(error FOR $3), coalesce(parent_name, ''),
			name IN (SELECT parent_name FROM actions WHERE run_id = $1 AND ` + failed + ` AND parent_name IS NOT NULL)
		FROM actions WHERE run_id = $1 AND ` + failed + ` ORDER BY created_at, id LIMIT $2`
	err = sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, query, runID, limit, failureBytes)
		if err != nil {
			return err
		}
		var f Failure
		if _, err := pgx.ForEachRow(rows, []any{&f.ID, &f.Name, &f.At, &f.Error, &f.Parent, &f.AboveFailed}, func() error {
			take(f)
			total++
			return nil
		}); err != nil || total < limit {
			return err
		}
		return tx.QueryRow(ctx, `SELECT count(*) FROM actions WHERE run_id = $1 AND `+failed, runID).Scan(&total)
	})
	if err != nil {
		return 0, fmt.Errorf("read failures of run %d: %w", runID, err)
	}
	return total, nil
}

// Failed reads failed actions with their complete errors. An action without an error of its own gets the error of its
// attempts. It leaves out ids that do not exist.
func (r *Reader) Failed(ctx context.Context, ids []int64) (map[int64]*schema.Action, error) {
	const query = `
		SELECT id, name, phase, coalesce(error, (
			SELECT e.error FROM action_events e WHERE e.action_id = a.id AND e.error IS NOT NULL ORDER BY e.seq DESC LIMIT 1))
		FROM actions a WHERE id = ANY($1)`
	rows, err := r.pool.Query(ctx, query, ids)
	if err != nil {
		return nil, fmt.Errorf("read failed actions: %w", err)
	}
	out := make(map[int64]*schema.Action, len(ids))
	var a schema.Action
	if _, err := pgx.ForEachRow(rows, []any{&a.ID, &a.Name, &a.Phase, &a.Error}, func() error {
		one := a
		out[a.ID] = &one
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read failed actions: %w", err)
	}
	return out, nil
}
