package storetest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// What FillVaried makes runs from, the frequent ones first: the first owner has one run in 18, the last one in 1,000.
const (
	VariedTasks    = 300 // pkg.flow_<n>
	VariedOwners   = 400 // user-<n>
	VariedTriggers = 60  // trigger-<n>, of three runs in ten
	// VariedVersion is how many runs of all tasks have a version, v<n>, and VariedExperiment how many have numbers of which
	// three in ten have the label experiment=e<n>.
	VariedVersion, VariedExperiment = 2500, 50
	// RareError is in the error of one run of 9,973.
	RareError = "CorruptManifest"
)

// VariedName is the name of run number n, unless a person named it.
func VariedName(n int) string {
	return fmt.Sprintf("r%x", sha256.Sum256([]byte(strconv.Itoa(n))))[:20]
}

// variedName is VariedName in SQL.
const variedName = `'r' || substr(encode(sha256(convert_to((%s)::text, 'UTF8')), 'hex'), 1, 19)`

// FillVaried makes runs of one action each, as an installation of many teams has them: eight of ten in the place of the config,
// the others over 40 projects, with tasks, owners, phases, labels, errors and so on of which some are frequent and some are
// rare. The newest thousandth is not finished, nor are a few older ones. The indexes are made afterwards, so that a million
// runs take about a minute.
func FillVaried(ctx context.Context, pool *pgxpool.Pool, c Config) error {
	digest, err := fillSpec(ctx, pool, c.SpecSize)
	if err != nil {
		return fmt.Errorf("seed specs: %w", err)
	}
	indexes, err := dropIndexes(ctx, pool)
	if err != nil {
		return fmt.Errorf("drop indexes: %w", err)
	}
	err = inOneGo(ctx, pool, int64(c.Runs), func(tx pgx.Tx, first int64) error {
		if _, err := tx.Exec(ctx, `SELECT setseed(0.42)`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, fmt.Sprintf(varied, fmt.Sprintf(variedName, "n"), fmt.Sprintf(variedName, "n - 50")), c.Project, c.Domain, digest, owner(), first, c.Runs, c.Start, c.Span, variedErrors())
		return err
	})
	if err != nil {
		return fmt.Errorf("seed runs: %w", err)
	}
	return Exec(ctx, pool, append(append([]string{`SET maintenance_work_mem = '256MB'`}, indexes...), `VACUUM ANALYZE actions`)...)
}

// dropIndexes drops the indexes of actions that are not of a constraint, and returns what makes them again.
func dropIndexes(ctx context.Context, pool *pgxpool.Pool) (made []string, err error) {
	rows, err := pool.Query(ctx, `SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index i
		WHERE indrelid = 'actions'::regclass AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)`)
	if err != nil {
		return nil, err
	}
	var name, definition string
	var names []string
	if _, err := pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		names, made = append(names, name), append(made, definition)
		return nil
	}); err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, `DROP INDEX `+strings.Join(names, ", "))
	return made, err
}

// varied inserts the runs. A power of a random number makes its low values frequent.
const varied = `
	WITH dice AS MATERIALIZED (
		SELECT n, %[1]s AS name, random() AS a, random() AS b, random() AS c, random() AS d, random() AS e, random() AS f, random() AS g
		FROM generate_series(0, $6::int - 1) n),
	rolled AS (
		SELECT *, $7::timestamptz + n * ($8::interval / $6::int) AS created_at, a < 0.8 AS here, n %% 20011 = 5 OR n >= $6::int - $6::int / 1000 AS live,
			CASE WHEN b < 0.3 THEN floor(60 * c * c)::int END AS trigger FROM dice),
	runs AS (
		SELECT *, CASE WHEN trigger IS NOT NULL THEN trigger * 5 ELSE floor(300 * c ^ 3)::int END AS task,
			CASE WHEN live THEN 1 + n %% 4 WHEN n %% 9973 = 3 THEN 6 WHEN d < 0.86 THEN 5 WHEN d < 0.94 THEN 6 WHEN d < 0.97 THEN 7
				WHEN d < 0.98 THEN 8 WHEN d < 0.985 THEN 10 ELSE 5 END AS phase,
			created_at + interval '1 second' * e * 60 AS started_at,
			created_at + interval '1 second' * (e * 60 + exp(3 + 3 * (f + g + e - 1.5))) AS ended_at FROM rolled)
	INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, attempt, version, admitted_at, last_seq, counted_seq,
		phase_counts, task_project, task_domain, task_name, task_version, task_type, short_name, function_name, environment_name,
		spec_digest, input_uri, output_uri, queue, error, created_by, created_by_subject, created_at, started_at, ended_at, updated_at, source, labels,
		relation_run, relation_type, trigger_name, trigger_task_name, trigger_revision, paused_count, cluster)
	SELECT $5::bigint + n, $5::bigint + n, project, domain, CASE WHEN n %% 101 = 7 THEN 'nightly-train-' || n ELSE name END, 'a0', 1, phase, 1, 3,
		CASE WHEN phase <> ` + sqltext.Queued + ` THEN created_at END, 4, 4, array_fill(0, ARRAY[phase]) || 1 || array_fill(0, ARRAY[10 - phase]),
		project, domain, 'pkg.flow_' || task, 'v' || n / 2500, 'python', 'flow_' || task, 'flow_' || task, 'pkg',
		$3, '/data/inputs/' || n %% 1000, '/data/' || name || '/a0/1', CASE WHEN g < 0.05 THEN 'gpu' ELSE '' END,
		CASE WHEN n %% 9973 = 3 AND NOT live THEN ($9::bytea[])[1] WHEN phase IN ` + sqltext.FailedPhases + ` THEN ($9::bytea[])[2 + n %% 150] END,
		$4, 'user-' || floor(400 * e ^ 3), created_at, CASE WHEN phase NOT IN (` + sqltext.Queued + `, ` + sqltext.WaitingForResources + `, ` + sqltext.Initializing + `) THEN started_at END, CASE WHEN NOT live THEN ended_at END,
		CASE WHEN live THEN started_at ELSE ended_at END, CASE WHEN trigger IS NOT NULL THEN 3 WHEN f < 0.2 THEN 1 WHEN f < 0.99 THEN 2 ELSE 4 END,
		CASE WHEN d < 0.9 THEN jsonb_build_object('team', 't' || floor(12 * f ^ 2)) ELSE '{}' END
			|| CASE WHEN f < 0.5 THEN jsonb_build_object('env', CASE WHEN g < 0.3 THEN 'dev' ELSE 'prod' END) ELSE '{}' END
			|| CASE WHEN g < 0.3 THEN jsonb_build_object('experiment', 'e' || n / 50) ELSE '{}' END
			|| CASE WHEN n %% 997 = 1 THEN jsonb_build_object('ticket', 'T-' || n) ELSE '{}' END,
		CASE WHEN n %% 97 = 0 THEN %[2]s ELSE '' END, CASE WHEN n %% 97 = 0 THEN 1 ELSE 0 END,
		coalesce('trigger-' || trigger, ''), CASE WHEN trigger IS NOT NULL THEN 'pkg.flow_' || task ELSE '' END, CASE WHEN trigger IS NOT NULL THEN 1 ELSE 0 END,
		CASE WHEN live AND phase = ` + sqltext.Running + ` AND n %% 8 = 3 THEN 1 ELSE 0 END, CASE WHEN n %% 2003 = 0 THEN 'west' WHEN c > 0.97 THEN 'east' ELSE 'default' END
	FROM (SELECT *, CASE WHEN here THEN $1 ELSE 'project-' || n %% 40 END AS project,
		CASE WHEN here THEN $2 ELSE (ARRAY['development', 'staging', 'production'])[1 + n %% 3] END AS domain FROM runs) made ORDER BY n`

// variedErrors are encoded errors with tracebacks; the first is the rare one.
func variedErrors() (bodies [][]byte) {
	for n := range 151 {
		code, message := []string{"KeyError", "ValueError", "OOMKilled", "TimeoutError", "ConnectionError"}[n%5], "column %d of the table is missing"
		if n == 0 {
			code, message = RareError, "the manifest at offset %d cannot be read"
		}
		frame := "\n  File \"/srv/app/pkg/flow.py\", line %d, in transform\n    frame = frame.merge(other, on=keys)"
		text := "Traceback (most recent call last):" + strings.Repeat(fmt.Sprintf(frame, n), 1+n%36) + "\n" + code + ": " + fmt.Sprintf(message, n)
		body, err := proto.Marshal(&core.ExecutionError{Code: code, Message: text, Kind: core.ExecutionError_USER})
		if err != nil {
			panic(err) // texts only
		}
		bodies = append(bodies, body)
	}
	return bodies
}
