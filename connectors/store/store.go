// Package store keeps connectors, the types of tasks that they serve, and the jobs that they run in Postgres. All times are the
// database's. It decides nothing; it serves connectors.
package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

const (
	// LeaseTable is the table of the service's leases.
	LeaseTable = "connector_leases"
	// Channel is where is announced which connector has something to do; the payload is its name.
	Channel = "flyte_connectors"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the service's tables.
func Schema() pgdb.Schema { return pgdb.Embedded("connectors", migrations) }

// Store reads and writes connectors and their jobs.
type Store struct{ db *pgxpool.Pool }

// New returns a store on a connection pool that the caller owns.
func New(db *pgxpool.Pool) *Store { return &Store{db: db} }

// Stage says how far the job of an attempt is.
type Stage int16

// The stages. An attempt goes only forwards.
const (
	Waiting  Stage = 0 // nothing was asked of the connector
	Intended Stage = 1 // the job may exist, and the connector's name for it is not known
	Created  Stage = 2 // the job exists
)

// Stop says why a job should end.
type Stop int16

// The reasons.
const (
	NoStop   Stop = 0
	Released Stop = 1 // the action has ended otherwise
	Overtime Stop = 2 // it exceeds its time limit
)

// Enum values as literals for SQL text.
const (
	sqlWaiting  = "0"
	sqlIntended = "1"
	sqlCreated  = "2"
	sqlNoStop   = "0"
	sqlReleased = "1"
	sqlOvertime = "2"
)

// Job is a row of connector_jobs: an attempt of an action, and its job in the other system.
type Job struct {
	UID            int64
	Connector      string
	TaskType       string
	TypeVersion    int32
	Action         ident.Action
	Priority       int32
	Attempt        int32
	UserFailures   int32
	SystemFailures int32
	Stage          Stage
	Stop           Stop
	// StoppedFor is for how long it should have ended; 0 if it should not.
	StoppedFor time.Duration
	// Failures counts calls in a row that failed: upwards those to which the connector answered with an error, downwards those that did
	// not reach it.
	Failures int
	Problem  string
	// Secrets are the names of secrets, by the names that the connector gives them.
	Secrets map[string]string
	// Dir is the directory of the attempt in the object store; empty until the job is requested.
	Dir string
	// Meta is by what the connector knows the job.
	Meta      []byte
	DueAt     time.Time
	BegunAt   *time.Time
	RunningAt *time.Time
	RunUntil  *time.Time
	// Phase and Version are the position that was reported last; Told is a digest of what was reported with it.
	Phase   int16
	Version int32
	Told    []byte
	// Over says that RunUntil has passed.
	Over bool
}

const jobColumns = `j.uid, j.connector, j.task_type, j.type_version, j.project, j.domain, j.run, j.name, j.priority, j.attempt, j.user_failures,
	j.system_failures, j.stage, j.stop, j.failures, j.problem, j.secrets, j.dir, j.meta, j.due_at, j.begun_at, j.running_at, j.run_until, j.phase, j.version, j.told,
	coalesce(j.run_until <= clock_timestamp(), false), coalesce(clock_timestamp() - j.stopped_at, interval '0')`

func scanJob(row pgx.CollectableRow) (Job, error) {
	var j Job
	return j, row.Scan(
		&j.UID, &j.Connector, &j.TaskType, &j.TypeVersion, &j.Action.Run.Project, &j.Action.Run.Domain, &j.Action.Run.Name, &j.Action.Name, &j.Priority,
		&j.Attempt, &j.UserFailures, &j.SystemFailures, &j.Stage, &j.Stop, &j.Failures, &j.Problem, &j.Secrets, &j.Dir, &j.Meta, &j.DueAt, &j.BegunAt, &j.RunningAt,
		&j.RunUntil, &j.Phase, &j.Version, &j.Told, &j.Over, &j.StoppedFor,
	)
}

// notify tells all replicas that connectors have something to do. It belongs to a transaction.
func notify(ctx context.Context, tx pgx.Tx, connectors ...string) error {
	for _, name := range connectors {
		if _, err := tx.Exec(ctx, `SELECT pg_notify($1, $2)`, Channel, name); err != nil {
			return fmt.Errorf("notify: %w", err)
		}
	}
	return nil
}

// atMostOne reads the row of a query; nil if there is none.
func atMostOne[T any](rows pgx.Rows, err error, scan pgx.RowToFunc[T]) (*T, error) {
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectExactlyOneRow(rows, scan)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, nil //nolint:nilnil // documented
	case err != nil:
		return nil, err
	}
	return &found, nil
}
