package watches

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ReportedEvent is an event as an executor reported it.
type ReportedEvent struct {
	Seq  int64
	Body []byte // workflow.ActionEvent
}

// AttemptEvents reads the events that executors reported of one attempt, after a position in the run's log, in order.
func (w *Reader) AttemptEvents(ctx context.Context, actionID int64, attempt int32, after int64, limit int) ([]ReportedEvent, error) {
	const query = `
		SELECT seq, event FROM action_events
		WHERE action_id = $1 AND seq > $2 AND attempt = $3 AND event IS NOT NULL
		ORDER BY seq LIMIT $4`
	rows, err := w.pool.Query(ctx, query, actionID, after, attempt, limit)
	if err != nil {
		return nil, fmt.Errorf("read events of action %d: %w", actionID, err)
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ReportedEvent])
	if err != nil {
		return nil, fmt.Errorf("read events of action %d: %w", actionID, err)
	}
	return events, nil
}
