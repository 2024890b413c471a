package worklists

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Unpublished is the list of events that sinks have not been sent yet.
type Unpublished struct{ pool *pgxpool.Pool }

// NewUnpublished returns a store on a pool that the caller owns.
func NewUnpublished(pool *pgxpool.Pool) *Unpublished { return &Unpublished{pool: pool} }

// Range is a part of the event log of one run.
type Range struct {
	ID, RunID, First, Last int64
	At                     time.Time
}

// Published is an event with the names that belong to it.
type Published struct {
	schema.Event
	Action   ident.Action
	Parent   string
	Type     int16 // workflow.ActionType
	TaskName string
}

// Ranges reads the oldest ranges of a sink.
func (b *Unpublished) Ranges(ctx context.Context, sink string, limit int) ([]Range, error) {
	rows, err := b.pool.Query(ctx, `SELECT id, run_id, first_seq, last_seq, at FROM event_backlog WHERE sink = $1 ORDER BY id LIMIT $2`, sink, limit)
	if err != nil {
		return nil, fmt.Errorf("read the backlog of events: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Range])
	if err != nil {
		return nil, fmt.Errorf("read the backlog of events: %w", err)
	}
	return found, nil
}

// Events reads the events of ranges, in their order. Those of runs that were deleted are missing.
func (b *Unpublished) Events(ctx context.Context, ranges []Range) ([]Published, error) {
	const query = `
		SELECT e.run_id, e.seq, e.action_id, e.attempt, e.phase, e.version, e.recorded_at, e.error,
			a.project, a.domain, a.run_name, a.name, coalesce(a.parent_name, ''), a.action_type, a.task_name
		FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS k (run_id, first_seq, last_seq, place)
		CROSS JOIN LATERAL (
			SELECT * FROM action_events WHERE run_id = k.run_id AND seq BETWEEN k.first_seq AND k.last_seq) AS e
		JOIN actions a ON a.id = e.action_id
		ORDER BY k.place, e.seq`
	rows, err := b.pool.Query(ctx, query, sqltext.Column(ranges, func(r Range) int64 { return r.RunID }),
		sqltext.Column(ranges, func(r Range) int64 { return r.First }), sqltext.Column(ranges, func(r Range) int64 { return r.Last }))
	if err != nil {
		return nil, fmt.Errorf("read events to publish: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Published, error) {
		var p Published
		run := &p.Action.Run
		return p, row.Scan(&p.RunID, &p.Seq, &p.ActionID, &p.Attempt, &p.Phase, &p.Version, &p.RecordedAt, &p.Error,
			&run.Project, &run.Domain, &run.Name, &p.Action.Name, &p.Parent, &p.Type, &p.TaskName)
	})
	if err != nil {
		return nil, fmt.Errorf("read events to publish: %w", err)
	}
	return found, nil
}

// Remove deletes ranges that a sink has.
func (b *Unpublished) Remove(ctx context.Context, sink string, ids []int64) error {
	if _, err := b.pool.Exec(ctx, `DELETE FROM event_backlog WHERE sink = $1 AND id = ANY($2)`, sink, ids); err != nil {
		return fmt.Errorf("remove from the backlog of events: %w", err)
	}
	return nil
}

// Expire deletes up to limit ranges, of any sink, from before a time, and returns how many.
func (b *Unpublished) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	tag, err := b.pool.Exec(ctx, `
		DELETE FROM event_backlog WHERE (sink, id) IN (SELECT sink, id FROM event_backlog WHERE at < $1 LIMIT $2)`, before, limit)
	if err != nil {
		return 0, fmt.Errorf("delete old events that were not published: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

// Waiting counts the changes that wait for a sink, up to limit, and returns when the oldest was written.
func (b *Unpublished) Waiting(ctx context.Context, sink string, limit int) (int, time.Time, error) {
	var count int
	var oldest *time.Time
	err := b.pool.QueryRow(ctx, `SELECT count(*), min(at) FROM (SELECT at FROM event_backlog WHERE sink = $1 ORDER BY id LIMIT $2) w`, sink, limit).Scan(&count, &oldest)
	if err != nil {
		return 0, time.Time{}, fmt.Errorf("count the backlog of events: %w", err)
	}
	if oldest == nil {
		return 0, time.Time{}, nil
	}
	return count, *oldest, nil
}

// Oldest is when the oldest range of a sink was written; the zero time when there is none.
func (b *Unpublished) Oldest(ctx context.Context, sink string) (time.Time, error) {
	var at time.Time
	err := b.pool.QueryRow(ctx, `SELECT at FROM event_backlog WHERE sink = $1 ORDER BY id LIMIT 1`, sink).Scan(&at)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, fmt.Errorf("read the age of the backlog: %w", err)
	}
	return at, nil
}
