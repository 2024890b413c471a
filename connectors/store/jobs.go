package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Offer adds actions, and reports which are new: an action that is stored stays as it is.
func (s *Store) Offer(ctx context.Context, jobs []Job) (added []bool, err error) {
	added = make([]bool, len(jobs))
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		statements := &pgx.Batch{}
		// What a crash forgets of it, the next snapshot of assignments brings again.
		statements.Queue(`SET LOCAL synchronous_commit = off`)
		connectors := make([]string, len(jobs))
		for i := range jobs {
			j, run := &jobs[i], &jobs[i].Action.Run
			statements.Queue(`
				INSERT INTO connector_jobs (uid, connector, task_type, type_version, project, domain, run, name, priority, attempt, user_failures, system_failures)
				VALUES ($1, `+finds("$2::text", "$3::integer", "$4::text", "$5::text")+`, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
				ON CONFLICT (uid) DO NOTHING RETURNING connector`,
				j.UID, j.TaskType, j.TypeVersion, run.Project, run.Domain, run.Name, j.Action.Name, j.Priority, j.Attempt, j.UserFailures, j.SystemFailures,
			).QueryRow(func(row pgx.Row) error {
				err := row.Scan(&connectors[i])
				if errors.Is(err, pgx.ErrNoRows) {
					return nil
				}
				added[i] = err == nil
				return err
			})
		}
		if err := tx.SendBatch(ctx, statements).Close(); err != nil {
			return err
		}
		return notify(ctx, tx, distinct(connectors)...)
	})
	if err != nil {
		return nil, fmt.Errorf("offer actions to connectors: %w", err)
	}
	return added, nil
}

// Release forgets actions that have ended otherwise. Jobs that may exist are kept until the connector has deleted them.
func (s *Store) Release(ctx context.Context, uids ...int64) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `DELETE FROM connector_jobs WHERE uid = ANY($1) AND stage = `+sqlWaiting, uids); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `
			UPDATE connector_jobs SET stop = `+sqlReleased+`, stopped_at = clock_timestamp(), due_at = clock_timestamp(), failures = 0
			WHERE uid = ANY($1) AND stop <> `+sqlReleased+` RETURNING connector`, uids)
		if err != nil {
			return err
		}
		connectors, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		return notify(ctx, tx, distinct(connectors)...)
	})
	if err != nil {
		return fmt.Errorf("release actions of connectors: %w", err)
	}
	return nil
}

// Unreleased lists the uids of all actions that were not released.
func (s *Store) Unreleased(ctx context.Context) ([]int64, error) {
	rows, err := s.db.Query(ctx, `SELECT uid FROM connector_jobs WHERE stop <> `+sqlReleased)
	if err != nil {
		return nil, fmt.Errorf("read actions of connectors: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// Intend records that a job is about to be requested, with the secrets that it gets and the directory of its attempt. It reports
// whether the attempt still waits for this connector: another may serve its type by now.
func (s *Store) Intend(ctx context.Context, j *Job, secrets map[string]string) (bool, error) {
	return s.change(ctx, `
		UPDATE connector_jobs SET stage = `+sqlIntended+`, secrets = $3, dir = $4, begun_at = coalesce(begun_at, clock_timestamp())
		WHERE uid = $1 AND attempt = $2 AND connector = $5 AND stage < `+sqlCreated+` AND stop = `+sqlNoStop, j.UID, j.Attempt, secrets, j.Dir, j.Connector)
}

// Created records by what the connector knows a job. The commit is durable when it returns. It reports whether the attempt has this
// job: another process may have got another one for it meanwhile.
func (s *Store) Created(ctx context.Context, j *Job, meta []byte) (bool, error) {
	return s.change(ctx, `
		UPDATE connector_jobs SET stage = `+sqlCreated+`, meta = $3, failures = 0, problem = ''
		WHERE uid = $1 AND attempt = $2 AND (stage = `+sqlIntended+` OR stage = `+sqlCreated+` AND meta = $3)`, j.UID, j.Attempt, meta)
}

// Told records what was reported of a job. limit is its time limit, which begins when it is first seen to run; 0 means none.
func (s *Store) Told(ctx context.Context, j *Job, running bool, limit time.Duration) error {
	_, err := s.change(ctx, `
		UPDATE connector_jobs SET phase = $3, version = $4, told = $5,
			running_at = CASE WHEN $6 THEN coalesce(running_at, clock_timestamp()) ELSE running_at END,
			run_until = CASE WHEN $6 AND $7 > interval '0' THEN coalesce(run_until, clock_timestamp() + $7) ELSE run_until END
		WHERE uid = $1 AND attempt = $2`, j.UID, j.Attempt, j.Phase, j.Version, j.Told, running, limit)
	return err
}

// Ended records that a job has ended, before that is reported: a job that has ended is not deleted. With log, its log
// is stored later. Only a crash of the database loses it.
func (s *Store) Ended(ctx context.Context, j *Job, log bool) error {
	statements := &pgx.Batch{}
	statements.Queue(`SET LOCAL synchronous_commit = off`)
	statements.Queue(`UPDATE connector_jobs SET told = $3 WHERE uid = $1 AND attempt = $2`, j.UID, j.Attempt, []byte(ended))
	if log {
		statements.Queue(keepLog, j.UID, j.Attempt)
	}
	if err := s.db.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("change a job: %w", err)
	}
	return nil
}

// ended takes the place of the digest in Job.Told.
const ended = "ended"

// HasEnded reports whether Ended was called.
func (j *Job) HasEnded() bool { return string(j.Told) == ended }

// Overrun marks a job that exceeds its time limit, and reports whether it was still running.
func (s *Store) Overrun(ctx context.Context, j *Job) (bool, error) {
	return s.change(ctx, `
		UPDATE connector_jobs SET stop = `+sqlOvertime+`, stopped_at = clock_timestamp(), failures = 0 WHERE uid = $1 AND attempt = $2 AND stop = `+sqlNoStop, j.UID, j.Attempt)
}

// Done forgets an attempt and its action. It is not an error if someone else did.
func (s *Store) Done(ctx context.Context, j *Job) error {
	_, err := s.change(ctx, `DELETE FROM connector_jobs WHERE uid = $1 AND attempt = $2`, j.UID, j.Attempt)
	return err
}

// Retry makes an action wait for its next attempt, or forgets it if it was released. It is not an error if someone else did.
func (s *Store) Retry(ctx context.Context, j *Job, next Job, pause time.Duration) error {
	gone, err := s.change(ctx, `DELETE FROM connector_jobs WHERE uid = $1 AND attempt = $2 AND stop = `+sqlReleased, j.UID, j.Attempt)
	if err != nil || gone {
		return err
	}
	_, err = s.change(ctx, `
		UPDATE connector_jobs SET attempt = $3, user_failures = $4, system_failures = $5, stage = `+sqlWaiting+`, stop = `+sqlNoStop+`, stopped_at = NULL,
			due_at = clock_timestamp() + $6, failures = 0, problem = '', secrets = '{}', dir = '', meta = NULL, begun_at = NULL, running_at = NULL, run_until = NULL,
			phase = DEFAULT, version = DEFAULT, told = DEFAULT
		WHERE uid = $1 AND attempt = $2`, j.UID, j.Attempt, next.Attempt, next.UserFailures, next.SystemFailures, pause)
	return err
}

// Hasten makes the jobs of a connector that could not be asked about due within a time, spread over it, and wakes its loop.
func (s *Store) Hasten(ctx context.Context, connector string, within time.Duration) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			UPDATE connector_jobs SET due_at = least(due_at, clock_timestamp() + $2::interval * random()) WHERE connector = $1 AND failures <> 0`,
			connector, within); err != nil {
			return err
		}
		return notify(ctx, tx, connector)
	})
	if err != nil {
		return fmt.Errorf("hasten jobs: %w", err)
	}
	return nil
}

// Abandon forgets jobs of connectors that are no longer configured if their deletion is due for a time, and returns their names for
// people, at most limit of them.
func (s *Store) Abandon(ctx context.Context, after time.Duration, limit int) ([]string, error) {
	rows, err := s.db.Query(ctx, `
		DELETE FROM connector_jobs WHERE uid IN (
			SELECT uid FROM connector_jobs j WHERE stop <> `+sqlNoStop+` AND stopped_at <= clock_timestamp() - $1::interval
				AND NOT EXISTS (SELECT FROM connectors c WHERE c.name = j.connector)
			LIMIT $2)
		RETURNING project || '/' || domain || '/' || run || '/' || name || ' of ' || connector`, after, limit)
	if err != nil {
		return nil, fmt.Errorf("forget jobs of connectors that are gone: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (s *Store) change(ctx context.Context, statement string, args ...any) (bool, error) {
	tag, err := s.db.Exec(ctx, statement, args...)
	if err != nil {
		return false, fmt.Errorf("change a job: %w", err)
	}
	return tag.RowsAffected() > 0, nil
}

// Later says when to look at a job again.
type Later struct {
	UID     int64
	Attempt int32
	// Stop is what is known of it: a job that should stop for another reason meanwhile is due as that says.
	Stop  Stop
	Pause time.Duration
	// Failures is how many calls in a row have failed; Problem is why.
	Failures int
	Problem  string
}

// Defer says when to look at jobs again. A crash loses little by losing it, so it does not wait for the disk.
func (s *Store) Defer(ctx context.Context, all []Later) error {
	var uids []int64
	var attempts, failures []int32
	var pauses []time.Duration
	var problems []string
	var stops []int16
	for i := range all {
		l := &all[i]
		uids, attempts, stops, pauses = append(uids, l.UID), append(attempts, l.Attempt), append(stops, int16(l.Stop)), append(pauses, l.Pause)
		failures, problems = append(failures, int32(l.Failures)), append(problems, l.Problem) //nolint:gosec // they are few
	}
	statements := &pgx.Batch{}
	statements.Queue(`SET LOCAL synchronous_commit = off`)
	statements.Queue(`
		UPDATE connector_jobs j SET due_at = least(clock_timestamp() + l.pause, j.run_until), failures = l.failures, problem = l.problem
		FROM unnest($1::bigint[], $2::integer[], $3::smallint[], $4::interval[], $5::integer[], $6::text[]) AS l (uid, attempt, stop, pause, failures, problem)
		WHERE j.uid = l.uid AND j.attempt = l.attempt AND j.stop = l.stop`, uids, attempts, stops, pauses, failures, problems)
	if err := s.db.SendBatch(ctx, statements).Close(); err != nil {
		return fmt.Errorf("defer jobs: %w", err)
	}
	return nil
}
