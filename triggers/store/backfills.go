package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Backfill is a row of trigger_backfills with the counts of its slots.
type Backfill struct {
	ID          int64
	TriggerID   int64
	From, Until time.Time
	Parallel    int32
	Cursor      time.Time
	Present     int32
	CreatedAt   time.Time
	EndedAt     *time.Time
	Canceled    bool

	Started, Failed, Unfinished int64
}

var backfillColumns = fmt.Sprintf(`b.id, b.trigger_id, b.from_time, b.until_time, b.parallel, b.cursor, b.present, b.created_at, b.ended_at, b.canceled,
	(SELECT count(*) FROM trigger_fires f WHERE f.backfill_id = b.id AND f.state = %d),
	(SELECT count(*) FROM trigger_fires f WHERE f.backfill_id = b.id AND f.state IN (%d, %d)),
	(SELECT count(*) FROM trigger_fires f WHERE f.backfill_id = b.id AND (f.live OR f.retry_at IS NOT NULL))`, Started, Failed, Skipped)

func (s *Store) backfills(ctx context.Context, query string, args ...any) ([]Backfill, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+backfillColumns+` FROM trigger_backfills b `+query, args...)
	if err != nil {
		return nil, fmt.Errorf("read backfills: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Backfill, error) {
		var b Backfill
		return b, row.Scan(&b.ID, &b.TriggerID, &b.From, &b.Until, &b.Parallel, &b.Cursor, &b.Present, &b.CreatedAt, &b.EndedAt, &b.Canceled,
			&b.Started, &b.Failed, &b.Unfinished)
	})
	if err != nil {
		return nil, fmt.Errorf("read backfills: %w", err)
	}
	return found, nil
}

// Backfills returns the latest backfills of a trigger, newest first.
func (s *Store) Backfills(ctx context.Context, trigger int64, limit int) ([]Backfill, error) {
	return s.backfills(ctx, `WHERE b.trigger_id = $1 ORDER BY b.id DESC LIMIT $2`, trigger, limit)
}

// WorkingBackfills returns those that have not ended, oldest first.
func (s *Store) WorkingBackfills(ctx context.Context, limit int) ([]Backfill, error) {
	return s.backfills(ctx, `WHERE b.ended_at IS NULL ORDER BY b.id LIMIT $1`, limit)
}

// AddBackfill begins a backfill, or returns the one of the same range that is being worked on. A trigger has at most limit
// that work.
func (s *Store) AddBackfill(ctx context.Context, b *Backfill, limit int) (*Backfill, error) {
	var id int64
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM triggers WHERE id = $1 FOR UPDATE`, b.TriggerID); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `SELECT id FROM trigger_backfills WHERE trigger_id = $1 AND from_time = $2 AND until_time = $3 AND ended_at IS NULL`,
			b.TriggerID, b.From, b.Until).Scan(&id)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		var working int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM trigger_backfills WHERE trigger_id = $1 AND ended_at IS NULL`, b.TriggerID).Scan(&working); err != nil {
			return err
		}
		if working >= limit {
			return rpc.ResourceExhausted("the trigger already has %d unfinished backfills, which is the limit; wait or cancel one", working)
		}
		if _, err := tx.Exec(ctx, `SELECT pg_notify($1, '')`, Channel); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO trigger_backfills (trigger_id, from_time, until_time, parallel, cursor, created_at)
			VALUES ($1, $2, $3, $4, $2, $5) RETURNING id`, b.TriggerID, b.From, b.Until, b.Parallel, s.clock.Now()).Scan(&id)
	})
	if err != nil {
		return nil, fmt.Errorf("add backfill: %w", err)
	}
	found, err := s.backfills(ctx, `WHERE b.id = $1`, id)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// CancelBackfill ends a backfill of a trigger; one that has ended stays as it is. Slots that wait for their runs are
// skipped.
func (s *Store) CancelBackfill(ctx context.Context, trigger, id int64) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		var found int64
		err := tx.QueryRow(ctx, `SELECT id FROM trigger_backfills WHERE id = $1 AND trigger_id = $2 FOR UPDATE`, id, trigger).Scan(&found)
		if errors.Is(err, pgx.ErrNoRows) {
			return rpc.NotFound("the trigger has no backfill %d", id)
		}
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE trigger_backfills SET ended_at = $2, canceled = true WHERE id = $1 AND ended_at IS NULL`, id, s.clock.Now())
		batch.Queue(`UPDATE trigger_fires SET state = $2, reason = 'the backfill was canceled', retry_at = NULL, settled_at = $3
			WHERE backfill_id = $1 AND retry_at IS NOT NULL`, id, Skipped, s.clock.Now())
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return fmt.Errorf("cancel backfill: %w", err)
	}
	return nil
}

// AdvanceBackfill picks up slots of a backfill and moves its cursor, in one transaction. A slot that was picked up before
// is counted and left as it is. It does nothing when the backfill has ended or its cursor was moved by another process.
func (s *Store) AdvanceBackfill(ctx context.Context, b *Backfill, fires []Fire, cursor time.Time, done bool) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(ctx, `SELECT id FROM trigger_backfills WHERE id = $1 AND ended_at IS NULL AND cursor = $2 FOR UPDATE`, b.ID, b.Cursor).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		present := 0
		for _, f := range fires {
			tag, err := tx.Exec(ctx, `INSERT INTO trigger_fires (trigger_id, slot, revision, state, run_name, retry_at, recorded_at, backfill_id)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (trigger_id, slot, cause) DO UPDATE
				SET state = excluded.state, revision = excluded.revision, run_name = excluded.run_name, attempts = 0, retry_at = excluded.retry_at, reason = '', settled_at = NULL, backfill_id = excluded.backfill_id
				WHERE trigger_fires.state = ANY($9)`,
				f.TriggerID, f.Slot, f.Revision, Pending, f.RunName, f.RetryAt, f.RecordedAt, b.ID, []State{Failed, Skipped})
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				present++
			}
		}
		var ended *time.Time
		if done {
			now := s.clock.Now()
			ended = &now
		}
		_, err = tx.Exec(ctx, `UPDATE trigger_backfills SET cursor = $2, present = present + $3, ended_at = $4 WHERE id = $1`, b.ID, cursor, present, ended)
		return err
	})
	if err != nil {
		return fmt.Errorf("advance backfill: %w", err)
	}
	return nil
}

// BackfillLive returns the slots of a backfill whose runs may be unfinished.
func (s *Store) BackfillLive(ctx context.Context, id int64) ([]Fire, error) {
	return s.fires(ctx, `SELECT `+fireColumns+` FROM trigger_fires f WHERE f.backfill_id = $1 AND f.live ORDER BY f.slot`, id)
}
