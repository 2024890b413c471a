package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Wake returns when the scheduler has work next: the earliest due trigger, and the earliest pending slot of triggers that are
// not in busy; nil where there is none.
func (s *Store) Wake(ctx context.Context, busy []int64) (slot, retry *time.Time, err error) {
	err = s.pool.QueryRow(ctx, `SELECT (SELECT min(next_fire_at) FROM triggers WHERE next_fire_at IS NOT NULL),
		(SELECT min(retry_at) FROM trigger_fires WHERE retry_at IS NOT NULL AND trigger_id <> ALL($1))`, noNil(busy)).Scan(&slot, &retry)
	if err != nil {
		return nil, nil, fmt.Errorf("read when triggers are due: %w", err)
	}
	return slot, retry, nil
}

// Backlog counts the slots whose runs must be created now, and the triggers with a slot that is due and not even picked up: a
// scheduler that does not run picks up none.
func (s *Store) Backlog(ctx context.Context) (count int64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT (SELECT count(*) FROM trigger_fires WHERE retry_at <= $1)
		+ (SELECT count(*) FROM triggers WHERE next_fire_at <= $1)`, s.clock.Now()).Scan(&count)
	return count, err
}

// PendingTriggers returns triggers with slots whose runs must be created now, the longest due first, without those in busy.
func (s *Store) PendingTriggers(ctx context.Context, now time.Time, busy []int64, limit int) ([]int64, error) {
	rows, err := s.pool.Query(ctx, `SELECT trigger_id FROM trigger_fires WHERE retry_at <= $1 AND trigger_id <> ALL($2)
		GROUP BY trigger_id ORDER BY min(retry_at) LIMIT $3`, now, noNil(busy), limit)
	if err != nil {
		return nil, fmt.Errorf("read pending slots: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("read pending slots: %w", err)
	}
	return ids, nil
}

// PendingFires returns the pending slots of a trigger, oldest first, also those that wait for their next try: slots of a
// trigger are run in their order.
func (s *Store) PendingFires(ctx context.Context, trigger int64, limit int) ([]Fire, error) {
	return s.fires(ctx, `SELECT `+fireColumns+` FROM trigger_fires f WHERE f.trigger_id = $1 AND f.retry_at IS NOT NULL
		ORDER BY f.slot, f.cause LIMIT $2`, trigger, limit)
}

// Settle ends the pending state of a slot.
func (s *Store) Settle(ctx context.Context, f *Fire, state State, reason string, live bool) error {
	_, err := s.pool.Exec(ctx, `UPDATE trigger_fires SET state = $3, reason = $4, live = $5, attempts = attempts + 1, retry_at = NULL, settled_at = $6
		WHERE trigger_id = $1 AND slot = $2 AND cause = $7 AND retry_at IS NOT NULL`, f.TriggerID, f.Slot, state, reason, live, s.clock.Now(), f.Cause)
	if err != nil {
		return fmt.Errorf("settle slot: %w", err)
	}
	return nil
}

// Postpone sets when the run of a slot is tried again. Later slots of the trigger wait as long.
func (s *Store) Postpone(ctx context.Context, f *Fire, at time.Time, reason string) error {
	_, err := s.pool.Exec(ctx, `UPDATE trigger_fires SET retry_at = greatest(retry_at, $3),
			reason = CASE WHEN slot = $2 AND cause = $5 THEN $4 ELSE reason END, attempts = attempts + CASE WHEN slot = $2 AND cause = $5 THEN 1 ELSE 0 END
		WHERE trigger_id = $1 AND slot >= $2 AND retry_at IS NOT NULL`, f.TriggerID, f.Slot, at, reason, f.Cause)
	if err != nil {
		return fmt.Errorf("postpone slot: %w", err)
	}
	return nil
}

// StartedBefore returns when the nth last of the slots that have started before a slot did; nil if there are fewer. Those of
// backfills do not count.
func (s *Store) StartedBefore(ctx context.Context, f *Fire, n int) (*time.Time, error) {
	var at *time.Time
	err := s.pool.QueryRow(ctx, `SELECT settled_at FROM trigger_fires WHERE trigger_id = $1 AND (slot, cause) < ($2, $3) AND state = $4
		AND backfill_id IS NULL ORDER BY slot DESC, cause DESC OFFSET $5 LIMIT 1`, f.TriggerID, f.Slot, f.Cause, Started, n-1).Scan(&at)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("read started slots: %w", err)
	}
	return at, nil
}

// Live returns the slots of a trigger whose runs may be unfinished, newest first, without those of backfills.
func (s *Store) Live(ctx context.Context, trigger int64) ([]Fire, error) {
	return s.fires(ctx, `SELECT `+fireColumns+` FROM trigger_fires f WHERE f.trigger_id = $1 AND f.live AND f.backfill_id IS NULL ORDER BY f.slot DESC`, trigger)
}

// Ended records that the run of a slot has ended.
func (s *Store) Ended(ctx context.Context, f *Fire) error {
	if _, err := s.pool.Exec(ctx, `UPDATE trigger_fires SET live = false WHERE trigger_id = $1 AND slot = $2 AND cause = $3`, f.TriggerID, f.Slot, f.Cause); err != nil {
		return fmt.Errorf("record the end of a run: %w", err)
	}
	return nil
}

// Fires returns slots of a trigger before a time, newest first.
func (s *Store) Fires(ctx context.Context, trigger int64, before *time.Time, limit int) ([]Fire, error) {
	return s.fires(ctx, `SELECT `+fireColumns+` FROM trigger_fires f WHERE f.trigger_id = $1 AND ($2::timestamptz IS NULL OR f.slot < $2)
		ORDER BY f.slot DESC, f.cause DESC LIMIT $3`, trigger, before, limit)
}

// Forget deletes settled slots that were recorded before a time, at most limit, and returns how many. The newest slot of a
// trigger, and those of backfills that work, are kept.
func (s *Store) Forget(ctx context.Context, before time.Time, limit int) (int, error) {
	tag, err := s.pool.Exec(ctx, `
		DELETE FROM trigger_fires f USING (
			SELECT o.trigger_id, o.slot, o.cause FROM trigger_fires o
			WHERE o.recorded_at < $1 AND o.retry_at IS NULL AND NOT o.live
				AND EXISTS (SELECT FROM trigger_fires n WHERE n.trigger_id = o.trigger_id AND n.slot > o.slot)
				AND NOT EXISTS (SELECT FROM trigger_backfills b WHERE b.id = o.backfill_id AND b.ended_at IS NULL)
			ORDER BY o.recorded_at LIMIT $2) old
		WHERE f.trigger_id = old.trigger_id AND f.slot = old.slot AND f.cause = old.cause`, before, limit)
	if err != nil {
		return 0, fmt.Errorf("delete old slots: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

func (s *Store) fires(ctx context.Context, query string, args ...any) ([]Fire, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read slots: %w", err)
	}
	fires, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Fire, error) {
		var f Fire
		return f, row.Scan(f.targets()...)
	})
	if err != nil {
		return nil, fmt.Errorf("read slots: %w", err)
	}
	return fires, nil
}

// noNil returns an empty array instead of NULL.
func noNil(ids []int64) []int64 { return append([]int64{}, ids...) }
