package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Log is the log of a job that has ended, until it is stored.
type Log struct {
	// Job identifies the job to the connector.
	Job Job
	// EndedFor is for how long the job has ended.
	EndedFor time.Duration
	// Failures is how many times in a row it could not be read to its end.
	Failures int
}

// Attempt is an attempt of an action.
type Attempt struct {
	UID    int64
	Number int32
}

const logColumns = `l.uid, l.attempt, l.connector, l.task_type, l.type_version, l.project, l.domain, l.run, l.name, l.secrets, l.dir, l.meta,
	clock_timestamp() - l.ended_at, l.failures`

func scanLog(row pgx.CollectableRow) (Log, error) {
	l := Log{Job: Job{Stage: Created}}
	j := &l.Job
	return l, row.Scan(&j.UID, &j.Attempt, &j.Connector, &j.TaskType, &j.TypeVersion, &j.Action.Run.Project, &j.Action.Run.Domain, &j.Action.Run.Name,
		&j.Action.Name, &j.Secrets, &j.Dir, &j.Meta, &l.EndedFor, &l.Failures)
}

// keepLog is a statement that has the log of a job stored later.
const keepLog = `
	INSERT INTO connector_logs (uid, attempt, connector, task_type, type_version, project, domain, run, name, secrets, dir, meta)
	SELECT uid, attempt, connector, task_type, type_version, project, domain, run, name, secrets, dir, meta FROM connector_jobs
	WHERE uid = $1 AND attempt = $2 AND meta IS NOT NULL AND dir <> ''
	ON CONFLICT DO NOTHING`

// KeepLog has the log of a job stored later.
func (s *Store) KeepLog(ctx context.Context, j *Job) error {
	_, err := s.change(ctx, keepLog, j.UID, j.Attempt)
	return err
}

// DueLogs reads logs that are due, at most a number of each connector, without those in hand, and how long it is until another is due; 0
// means that none is.
func (s *Store) DueLogs(ctx context.Context, hand []Attempt, most int) (due []Log, next time.Duration, err error) {
	uids, attempts := make([]int64, len(hand)), make([]int32, len(hand))
	for i, one := range hand {
		uids[i], attempts[i] = one.UID, one.Number
	}
	rows, err := s.db.Query(ctx, `
		SELECT `+logColumns+` FROM connectors c CROSS JOIN LATERAL (
			SELECT * FROM connector_logs l WHERE l.connector = c.name AND l.due_at <= now()
				AND NOT EXISTS (SELECT FROM unnest($1::bigint[], $2::integer[]) AS h (uid, attempt) WHERE (h.uid, h.attempt) = (l.uid, l.attempt))
			ORDER BY l.due_at LIMIT $3
		) l`, uids, attempts, most)
	if err != nil {
		return nil, 0, fmt.Errorf("read due logs: %w", err)
	}
	if due, err = pgx.CollectRows(rows, scanLog); err != nil {
		return nil, 0, fmt.Errorf("read due logs: %w", err)
	}
	var seconds float64
	if err := s.db.QueryRow(ctx, `
		SELECT coalesce(extract(epoch FROM min(l.due_at) - now()), -1) FROM connectors c CROSS JOIN LATERAL (
			SELECT due_at FROM connector_logs l WHERE l.connector = c.name AND l.due_at > now() ORDER BY l.due_at LIMIT 1
		) l`).Scan(&seconds); err != nil {
		return nil, 0, fmt.Errorf("read due logs: %w", err)
	}
	if seconds >= 0 {
		next = time.Duration(seconds*float64(time.Second)) + time.Millisecond
	}
	return due, next, nil
}

// DeferLog has a log read again after a pause.
func (s *Store) DeferLog(ctx context.Context, l *Log, pause time.Duration) error {
	_, err := s.change(ctx, `
		UPDATE connector_logs SET due_at = clock_timestamp() + $3, failures = $4 WHERE uid = $1 AND attempt = $2`,
		l.Job.UID, l.Job.Attempt, pause, l.Failures)
	return err
}

// LogDone forgets a log that is stored, or given up.
func (s *Store) LogDone(ctx context.Context, l *Log) error {
	_, err := s.change(ctx, `DELETE FROM connector_logs WHERE uid = $1 AND attempt = $2`, l.Job.UID, l.Job.Attempt)
	return err
}

// LogOf reads the log of an attempt that is not stored yet; nil if there is none.
func (s *Store) LogOf(ctx context.Context, action ident.Action, attempt uint32) (*Log, error) {
	rows, err := s.db.Query(ctx, `SELECT `+logColumns+` FROM connector_logs l
		WHERE project = $1 AND domain = $2 AND run = $3 AND name = $4 AND attempt = $5 ORDER BY uid DESC LIMIT 1`,
		action.Run.Project, action.Run.Domain, action.Run.Name, action.Name, int64(attempt))
	found, err := atMostOne(rows, err, scanLog)
	if err != nil {
		return nil, fmt.Errorf("read the log of an attempt: %w", err)
	}
	return found, nil
}

// AbandonLogs forgets logs of connectors that are no longer configured, some time after the ends of their jobs.
func (s *Store) AbandonLogs(ctx context.Context, after time.Duration) error {
	_, err := s.change(ctx, `
		DELETE FROM connector_logs l WHERE ended_at <= clock_timestamp() - $1::interval
			AND NOT EXISTS (SELECT FROM connectors c WHERE c.name = l.connector)`, after)
	return err
}
