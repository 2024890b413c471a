package problems

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Failure is a task action that failed or timed out.
type Failure struct {
	ID, RunID     int64
	Place         schema.Scope
	RunName, Name string
	Task          string
	Phase         int16
	At            time.Time
	Error         []byte // the beginning of an encoded core.ExecutionError
}

// Counted are failures with the same sign.
type Counted struct {
	Place         schema.Scope
	Digest        []byte
	Code, Message string // the message is that of the latest
	Failures      []Failure
	// ReadAt is when the log of one of them is to be read, if the sign is new; nil for never.
	ReadAt *time.Time
}

// maxChildren bounds the failed children among which the cause of a failure is looked for.
const maxChildren = 1000

// Count takes up to limit failures from the list, and counts those that sort keeps, all in one transaction. Below are the errors of
// their failed children by the id of the failure. It returns how many it took.
func (s *Store) Count(ctx context.Context, limit int, sort func(failures []Failure, below map[int64][][]byte) []Counted) (taken int, err error) {
	err = s.change(ctx, func(tx pgx.Tx) error {
		ids, err := take(ctx, tx, limit)
		if err != nil || len(ids) == 0 {
			return err
		}
		taken = len(ids)
		failures, err := readFailures(ctx, tx, ids)
		if err != nil {
			return err
		}
		below, err := childErrors(ctx, tx, ids)
		if err != nil {
			return err
		}
		for _, counted := range sort(failures, below) {
			if err := count(ctx, tx, &counted); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count failures: %w", err)
	}
	return taken, nil
}

func take(ctx context.Context, tx pgx.Tx, limit int) ([]int64, error) {
	rows, err := tx.Query(ctx, `
		DELETE FROM uncounted_failures WHERE action_id = ANY(ARRAY(SELECT action_id FROM uncounted_failures ORDER BY action_id LIMIT $1))
		RETURNING action_id`, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// readFailures locks the rows in the order in which the writer locks them, so that none is deleted before it is counted.
func readFailures(ctx context.Context, tx pgx.Tx, ids []int64) ([]Failure, error) {
	rows, err := tx.Query(ctx, `
		SELECT id, run_id, project, domain, run_name, name, task_name, phase, coalesce(ended_at, updated_at), substring(coalesce(error, (
			SELECT e.error FROM action_events e WHERE e.action_id = a.id AND e.error IS NOT NULL ORDER BY e.seq DESC LIMIT 1)) FOR $2)
		FROM actions a WHERE id = ANY($1) AND phase IN `+sqltext.FailedPhases+` AND action_type = `+sqltext.Task+`
			AND NOT EXISTS (SELECT FROM problem_failures f WHERE f.action_id = a.id)
		ORDER BY id FOR KEY SHARE OF a`, ids, readBytes)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Failure, error) {
		var f Failure
		return f, row.Scan(&f.ID, &f.RunID, &f.Place.Project, &f.Place.Domain, &f.RunName, &f.Name, &f.Task, &f.Phase, &f.At, &f.Error)
	})
}

func childErrors(ctx context.Context, tx pgx.Tx, ids []int64) (map[int64][][]byte, error) {
	rows, err := tx.Query(ctx, `
		SELECT a.id, c.error FROM actions a, LATERAL (
			SELECT substring(c.error FOR $2) AS error FROM actions c
			WHERE c.run_id = a.run_id AND c.parent_name = a.name AND c.phase IN `+sqltext.FailedPhases+` AND c.action_type = `+sqltext.Task+` AND c.error IS NOT NULL
			LIMIT $3) c
		WHERE a.id = ANY($1)`, ids, readBytes, maxChildren)
	if err != nil {
		return nil, err
	}
	below := map[int64][][]byte{}
	var id int64
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		below[id] = append(below[id], append([]byte{}, body...))
		return nil
	})
	return below, err
}

// count adds failures to the problem of their sign, which it creates for a sign that is new.
func count(ctx context.Context, tx pgx.Tx, c *Counted) error {
	first, last := &c.Failures[0], &c.Failures[0]
	for i := range c.Failures {
		if f := &c.Failures[i]; f.At.Before(first.At) {
			first = f
		} else if f.At.After(last.At) {
			last = f
		}
	}
	var id int64
	err := tx.QueryRow(ctx, `SELECT problem_id FROM problem_signs WHERE project = $1 AND domain = $2 AND digest = $3`,
		c.Place.Project, c.Place.Domain, c.Digest).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		id, err = create(ctx, tx, c, first, last)
	}
	if err != nil {
		return err
	}
	runs := sqltext.Column(c.Failures, func(f Failure) int64 { return f.RunID })
	if _, err := tx.Exec(ctx, `
		UPDATE problems p SET failures = p.failures + $2, first_seen = least(p.first_seen, $3), last_seen = greatest(p.last_seen, $4),
			runs = p.runs + (SELECT count(DISTINCT r) FROM unnest($5::bigint[]) AS r
				WHERE NOT EXISTS (SELECT FROM problem_failures f WHERE f.problem_id = p.id AND f.run_id = r)),
			message = CASE WHEN $4 >= p.last_seen THEN $6 ELSE p.message END,
			run_name = CASE WHEN $4 >= p.last_seen THEN $7 ELSE p.run_name END, name = CASE WHEN $4 >= p.last_seen THEN $8 ELSE p.name END,
			tasks = CASE WHEN $9 = ANY(p.tasks) OR cardinality(p.tasks) >= $10 THEN p.tasks ELSE p.tasks || $9 END
		WHERE p.id = $1`,
		id, len(c.Failures), first.At, last.At, runs, c.Message, last.RunName, last.Name, first.Task, maxTasks); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO problem_failures (action_id, run_id, problem_id, failed_at) SELECT a, r, $3, t FROM unnest($1::bigint[], $2::bigint[], $4::timestamptz[]) AS u (a, r, t)`,
		sqltext.Column(c.Failures, func(f Failure) int64 { return f.ID }), runs, id, sqltext.Column(c.Failures, func(f Failure) time.Time { return f.At }))
	return err
}

func create(ctx context.Context, tx pgx.Tx, c *Counted, first, last *Failure) (id int64, err error) {
	err = tx.QueryRow(ctx, `
		INSERT INTO problems (project, domain, code, message, failures, runs, tasks, first_seen, last_seen, run_name, name)
		VALUES ($1, $2, $3, $4, 0, 0, '{}', $5, $6, $7, $8) RETURNING id`,
		c.Place.Project, c.Place.Domain, c.Code, c.Message, first.At, last.At, last.RunName, last.Name).Scan(&id)
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, `INSERT INTO problem_signs (problem_id, project, domain, digest, sample, next_at) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, c.Place.Project, c.Place.Domain, c.Digest, last.ID, c.ReadAt)
	return id, err
}
