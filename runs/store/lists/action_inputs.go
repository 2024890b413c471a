package lists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// ActionInputs reads where the inputs of actions of a run are stored, by id and in id order. It leaves out actions of
// other runs, and fills in only ID, Name and InputURI.
func (r *Reader) ActionInputs(ctx context.Context, runID int64, ids []int64) ([]*schema.Action, error) {
	const query = `SELECT id, name, input_uri FROM actions WHERE id = ANY($2) AND run_id = $1 ORDER BY id`
	rows, err := r.pool.Query(ctx, query, runID, ids)
	if err != nil {
		return nil, fmt.Errorf("read inputs of actions of run %d: %w", runID, err)
	}
	actions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*schema.Action, error) {
		a := &schema.Action{RunID: runID}
		return a, row.Scan(&a.ID, &a.Name, &a.InputURI)
	})
	if err != nil {
		return nil, fmt.Errorf("read inputs of actions of run %d: %w", runID, err)
	}
	return actions, nil
}
