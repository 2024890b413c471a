package lists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// ChildrenData reads where the data of the first children of an action is stored, in the order in which the children
// were recorded. It fills in only ID, Name, ActionType, Phase, CreatedAt, EndedAt, InputURI, OutputURI and Signal.
func (r *Reader) ChildrenData(ctx context.Context, runID int64, parent string, limit int) ([]*schema.Action, error) {
	const query = `
		SELECT id, name, action_type, phase, created_at, ended_at, input_uri, output_uri, signal FROM actions
		WHERE run_id = $1 AND parent_name = $2 ORDER BY id LIMIT $3`
	rows, err := r.pool.Query(ctx, query, runID, parent, limit)
	if err != nil {
		return nil, fmt.Errorf("read children of %s: %w", parent, err)
	}
	children, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*schema.Action, error) {
		a := &schema.Action{RunID: runID, ParentName: &parent}
		return a, row.Scan(&a.ID, &a.Name, &a.ActionType, &a.Phase, &a.CreatedAt, &a.EndedAt, &a.InputURI, &a.OutputURI, &a.Signal)
	})
	if err != nil {
		return nil, fmt.Errorf("read children of %s: %w", parent, err)
	}
	return children, nil
}
