// Package storetest fills the tables of runs with many plausible rows, quickly, for benchmarks and for tests of query
// plans. The rows obey the rules of the schema but did not go through the state machine; only tests and benchmarks
// import it.
package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Config says how much is made. All runs are in one project and domain.
type Config struct {
	Project, Domain string
	// Runs is the number of runs named r0, r1 and so on, spread evenly from Start over Span, oldest first.
	Runs int
	// Children of each run; all succeed.
	Children int
	// Wide is the number of children of one more run, named wide. Zero makes no such run.
	Wide int
	// LiveWide leaves all children of wide admitted and unfinished.
	LiveWide bool
	// Start and Span are when the runs were created.
	Start time.Time
	Span  time.Duration
	// SpecSize is the approximate size of the one task spec, in bytes.
	SpecSize int
	// Events is the number of events of each action.
	Events int
}

// DefaultConfig makes a million actions: 90,000 runs of ten actions over 30 days and a run of 100,000.
func DefaultConfig() Config {
	return Config{
		Project: "flytesnacks", Domain: "development",
		Runs: 90_000, Children: 9, Wide: 99_999,
		Start: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), Span: 30 * 24 * time.Hour,
		SpecSize: 1400,
	}
}

// What the columns of run number n are made from, so that callers can ask for rows of known rarity.
const (
	Owners = 20  // subject user-<n mod 20>
	Tasks  = 50  // task env.task-<n mod 50>
	Teams  = 10  // label team=t<n mod 10>
	Rare   = 997 // label rare=yes on one of 997 runs
)

// Fill makes the rows and refreshes the planner's statistics. The tables may hold other rows already.
func Fill(ctx context.Context, pool *pgxpool.Pool, c Config) error {
	digest, err := fillSpec(ctx, pool, c.SpecSize)
	if err != nil {
		return fmt.Errorf("seed specs: %w", err)
	}
	if err := fillRuns(ctx, pool, c, digest); err != nil {
		return fmt.Errorf("seed runs: %w", err)
	}
	if c.Wide > 0 {
		if err := fillWide(ctx, pool, c, digest); err != nil {
			return fmt.Errorf("seed wide run: %w", err)
		}
	}
	if c.Events > 0 {
		if err := fillEvents(ctx, pool, c); err != nil {
			return fmt.Errorf("seed events: %w", err)
		}
	}
	return Exec(ctx, pool, `VACUUM ANALYZE actions`)
}

// Exec runs statements one after the other, however long they take.
func Exec(ctx context.Context, pool *pgxpool.Pool, statements ...string) error {
	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		defer conn.Exec(ctx, `RESET statement_timeout`) //nolint:errcheck // the connection is as good as before
		for _, statement := range append([]string{`SET statement_timeout = 0`}, statements...) {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%.40s: %w", statement, err)
			}
		}
		return nil
	})
}

func fillSpec(ctx context.Context, pool *pgxpool.Pool, size int) ([]byte, error) {
	args := make([]string, 0, size/32)
	for i := range size / 32 {
		args = append(args, fmt.Sprintf("--argument-number-%013d", i))
	}
	digest, body, err := schema.EncodeSpec(schema.SpecTask, &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
		Type:   "python",
		Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "example/image", Args: args}},
	}})
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, `INSERT INTO specs (digest, kind, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, digest, schema.SpecTask, body)
	return digest, err
}

// rows inserts actions from a query that yields id, run_id, run_name, name, parent_name, n (the run's number), phase,
// created_at and whether the row has ended.
const rows = `
	INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, attempt, version,
		admitted_at, last_seq, task_project, task_domain, task_name, task_version, task_type, short_name, function_name,
		environment_name, spec_digest, input_uri, output_uri, created_by, created_by_subject, created_at, started_at, ended_at,
		updated_at, source, labels, paused_count)
	SELECT id, run_id, $1, $2, run_name, name, parent_name, 1, phase, 1, 3, created_at, 4, $1, $2, 'env.task-' || n % 50,
		'v' || n % 200, 'python', 'task-' || n % 50, 'task-' || n % 50, 'env', $3, '/data/' || run_name || '/inputs',
		'/data/' || run_name || '/' || name || '/1', $4, 'user-' || n % 20, created_at, created_at + interval '1 second',
		CASE WHEN ended THEN created_at + interval '30 seconds' END,
		created_at + CASE WHEN ended THEN interval '30 seconds' ELSE interval '1 second' END, 2,
		CASE WHEN parent_name IS NOT NULL THEN '{}'
			WHEN n % 997 = 0 THEN jsonb_build_object('team', 't' || n % 10, 'rare', 'yes')
			ELSE jsonb_build_object('team', 't' || n % 10) END,
		CASE WHEN parent_name IS NULL AND n % 1000 = 7 THEN 1 ELSE 0 END
	FROM `

func fillRuns(ctx context.Context, pool *pgxpool.Pool, c Config, digest []byte) error {
	return inOneGo(ctx, pool, int64(c.Runs)*int64(1+c.Children), func(tx pgx.Tx, first int64) error {
		step := c.Span / time.Duration(max(c.Runs, 1))
		// The newest thousandth is not finished; of the others one in twenty failed.
		query := rows + `(
			SELECT $5::bigint + n * ($6::int + 1) + child AS id, $5::bigint + n * ($6::int + 1) AS run_id, 'r' || n AS run_name,
				CASE WHEN child = 0 THEN 'a0' ELSE 'c' || child END AS name, CASE WHEN child > 0 THEN 'a0' END AS parent_name,
				n, CASE WHEN live THEN 1 + (n % 4) WHEN n % 20 = 3 AND child = 0 THEN 6 WHEN n % 50 = 11 AND child = 0 THEN 7 ELSE 5 END AS phase,
				$8::timestamptz + n * $9::interval + child * interval '1 millisecond' AS created_at, NOT live AS ended
			FROM (SELECT n, n >= $7::bigint - $7::bigint / 1000 AS live FROM generate_series(0, $7::bigint - 1) n) r,
				generate_series(0, $6::int) child) made`
		_, err := tx.Exec(ctx, query, c.Project, c.Domain, digest, owner(), first, c.Children, c.Runs, c.Start, step)
		return err
	})
}

func fillWide(ctx context.Context, pool *pgxpool.Pool, c Config, digest []byte) error {
	return inOneGo(ctx, pool, int64(c.Wide)+1, func(tx pgx.Tx, first int64) error {
		query := rows + `(
			SELECT $5::bigint + child AS id, $5::bigint AS run_id, 'wide' AS run_name,
				CASE WHEN child = 0 THEN 'a0' ELSE 'c' || child END AS name, CASE WHEN child > 0 THEN 'a0' END AS parent_name,
				child AS n, CASE WHEN child = 0 OR $8::bool THEN 4 WHEN child % 20 = 3 THEN 6 ELSE 5 END AS phase,
				$7::timestamptz + child * interval '10 milliseconds' AS created_at, child > 0 AND NOT $8::bool AS ended
			FROM generate_series(0, $6::int) child) made`
		_, err := tx.Exec(ctx, query, c.Project, c.Domain, digest, owner(), first, c.Wide, c.Start.Add(c.Span), c.LiveWide)
		return err
	})
}

// inOneGo reserves count ids of the sequence and runs fn with the first of them.
func inOneGo(ctx context.Context, pool *pgxpool.Pool, count int64, fn func(tx pgx.Tx, first int64) error) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = 0`); err != nil {
			return err
		}
		var first int64
		const take = `SELECT nextval('actions_id_seq')`
		if err := tx.QueryRow(ctx, take).Scan(&first); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `SELECT setval('actions_id_seq', $1)`, first+count); err != nil {
			return err
		}
		return fn(tx, first)
	})
}

func fillEvents(ctx context.Context, pool *pgxpool.Pool, c Config) error {
	_, err := pool.Exec(ctx, `
		INSERT INTO action_events (run_id, seq, action_id, attempt, phase, version, recorded_at)
		SELECT run_id, row_number() OVER (PARTITION BY run_id ORDER BY id, number), id, 1, least(phase, number), 0, created_at
		FROM actions, generate_series(1, $1::int) number ON CONFLICT DO NOTHING`, c.Events)
	return err
}

func owner() []byte {
	body, err := proto.Marshal(&common.EnrichedIdentity{Principal: &common.EnrichedIdentity_User{User: &common.User{
		Id: &common.UserIdentifier{Subject: "user-0"},
	}}})
	if err != nil {
		panic(err) // a constant message
	}
	return body
}
