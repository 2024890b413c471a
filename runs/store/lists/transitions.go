package lists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Transitioned is an action with the fields that its phase history needs, and its events that changed the phase or
// the attempt, in log order.
type Transitioned struct {
	Action schema.Action
	Events []schema.Event
}

// Transitions reads the phase changes of actions of a run, by id and in id order. It leaves out actions of other
// runs, and events that only add detail to a phase, of which there may be very many.
func (r *Reader) Transitions(ctx context.Context, runID int64, ids []int64) ([]Transitioned, error) {
	const query = `
		SELECT a.id, a.name, a.action_type, a.phase, a.attempt, a.created_at, a.started_at, a.ended_at, a.updated_at,
			e.attempt, e.phase, e.recorded_at, e.event
		FROM actions a LEFT JOIN LATERAL (
			SELECT seq, attempt, phase, recorded_at, event FROM (
				SELECT *, lag(attempt) OVER log AS attempt_before, lag(phase) OVER log AS phase_before
				FROM action_events WHERE action_id = a.id WINDOW log AS (ORDER BY seq)) AS events
			WHERE (attempt, phase) IS DISTINCT FROM (attempt_before, phase_before)) AS e ON true
		WHERE a.id = ANY($2) AND a.run_id = $1 ORDER BY a.id, e.seq`
	rows, err := r.pool.Query(ctx, query, runID, ids)
	if err != nil {
		return nil, fmt.Errorf("read transitions of run %d: %w", runID, err)
	}
	var out []Transitioned
	var a schema.Action
	var (
		attempt *int32
		phase   *int16
		at      *time.Time
		event   []byte
	)
	targets := []any{
		&a.ID, &a.Name, &a.ActionType, &a.Phase, &a.Attempt, &a.CreatedAt, &a.StartedAt, &a.EndedAt, &a.UpdatedAt,
		&attempt, &phase, &at, &event,
	}
	_, err = pgx.ForEachRow(rows, targets, func() error {
		if len(out) == 0 || out[len(out)-1].Action.ID != a.ID {
			out = append(out, Transitioned{Action: a})
		}
		if attempt != nil && phase != nil && at != nil {
			last := &out[len(out)-1]
			last.Events = append(last.Events, schema.Event{
				RunID: runID, ActionID: a.ID, Attempt: *attempt, Phase: *phase, RecordedAt: *at, Event: event,
			})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read transitions of run %d: %w", runID, err)
	}
	return out, nil
}
