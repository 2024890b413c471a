package problems

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Unread is a sign whose failures were not looked up in a log yet.
type Unread struct {
	ID     int64
	Action ident.Action // one that failed so
	Gone   bool         // it was deleted
	Tries  int
}

// Unread reads the signs that are due, longest due first. Those that wait for longer than the longest pause are due, too: they were
// postponed before the clock was set back.
func (s *Store) Unread(ctx context.Context, now time.Time, longest time.Duration, limit int) ([]Unread, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT s.id, s.tries, a.id IS NULL, coalesce(a.project, ''), coalesce(a.domain, ''), coalesce(a.run_name, ''), coalesce(a.name, '')
		FROM (SELECT * FROM problem_signs WHERE next_at <= $1 OR next_at > $2 ORDER BY next_at, id LIMIT $3) s
		LEFT JOIN actions a ON a.id = s.sample ORDER BY s.next_at, s.id`, now, now.Add(longest), limit)
	if err != nil {
		return nil, fmt.Errorf("read signs of problems: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Unread, error) {
		var u Unread
		return u, row.Scan(&u.ID, &u.Tries, &u.Gone, &u.Action.Run.Project, &u.Action.Run.Domain, &u.Action.Run.Name, &u.Action.Name)
	})
	if err != nil {
		return nil, fmt.Errorf("read signs of problems: %w", err)
	}
	return found, nil
}

// Postpone records a failed try and when to retry; nil for never.
func (s *Store) Postpone(ctx context.Context, sign int64, next *time.Time) error {
	if _, err := s.pool.Exec(ctx, `UPDATE problem_signs SET tries = tries + 1, next_at = $2 WHERE id = $1`, sign, next); err != nil {
		return fmt.Errorf("postpone a sign of a problem: %w", err)
	}
	return nil
}

// Found records where the failures with a sign come from. If another problem has the same code and place, the two become one.
func (s *Store) Found(ctx context.Context, sign int64, at Place) error {
	err := s.change(ctx, func(tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(ctx, `UPDATE problem_signs SET next_at = NULL WHERE id = $1 RETURNING problem_id`, sign).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // the problem is gone
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE problems SET file = $2, function = $3 WHERE id = $1 AND file = ''`, id, at.File, at.Function); err != nil {
			return err
		}
		var other int64
		err = tx.QueryRow(ctx, `
			SELECT o.id FROM problems p JOIN problems o ON o.project = p.project AND o.domain = p.domain AND o.code = p.code
				AND o.function = p.function AND o.file = p.file AND o.id <> p.id
			WHERE p.id = $1 AND p.file = $2 AND o.file <> '' ORDER BY o.id LIMIT 1`, id, at.File).Scan(&other)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return merge(ctx, tx, min(id, other), max(id, other))
	})
	if err != nil {
		return fmt.Errorf("record where a problem is: %w", err)
	}
	return nil
}

// merge adds a problem to another one.
func merge(ctx context.Context, tx pgx.Tx, into, from int64) error {
	for _, statement := range []string{
		`UPDATE problems p SET failures = p.failures + f.failures, first_seen = least(p.first_seen, f.first_seen), last_seen = greatest(p.last_seen, f.last_seen),
			runs = p.runs + f.runs - (SELECT count(DISTINCT a.run_id) FROM problem_failures a WHERE a.problem_id = f.id
				AND EXISTS (SELECT FROM problem_failures b WHERE b.problem_id = p.id AND b.run_id = a.run_id)),
			tasks = (p.tasks || ARRAY(SELECT t FROM unnest(f.tasks) AS t WHERE t <> ALL(p.tasks)))[1:20],
			message = CASE WHEN f.last_seen > p.last_seen THEN f.message ELSE p.message END,
			run_name = CASE WHEN f.last_seen > p.last_seen THEN f.run_name ELSE p.run_name END,
			name = CASE WHEN f.last_seen > p.last_seen THEN f.name ELSE p.name END
		FROM problems f WHERE p.id = $1 AND f.id = $2`,
		`UPDATE problem_failures SET problem_id = $1 WHERE problem_id = $2`,
		`UPDATE problem_signs SET problem_id = $1 WHERE problem_id = $2`,
	} {
		if _, err := tx.Exec(ctx, statement, into, from); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM problems WHERE id = $1`, from)
	return err
}

// Sweep deletes problems without failures, which retention has deleted, and the longest unseen of places with more than keep.
func (s *Store) Sweep(ctx context.Context, keep int) error {
	err := s.change(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			DELETE FROM problems p WHERE NOT EXISTS (SELECT FROM problem_failures f WHERE f.problem_id = p.id) OR p.id IN (
				SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY project, domain ORDER BY last_seen DESC, id DESC) AS place FROM problems) o
				WHERE o.place > $1)`, keep)
		return err
	})
	if err != nil {
		return fmt.Errorf("sweep problems: %w", err)
	}
	return nil
}
