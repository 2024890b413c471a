package lists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// SourceRun is a run whose results another run may reuse.
type SourceRun struct {
	ID   int64 `db:"id"`
	Name string
	// RunSpec is the encoded task.RunSpec, which names what that run itself ran again; empty when it has none.
	RunSpec []byte
}

// maxSources bounds how many runs back a recovery looks.
const maxSources = 32

// RecoverySources reads the chain of runs behind a recovery, nearest first: the named run, then the run that it
// recovered, and so on. A recovery is always younger than its source, so a run that is not older than the run with
// the id younger took the name after the real source was deleted, and is left out.
func (r *Reader) RecoverySources(ctx context.Context, source ident.Run, younger int64) ([]SourceRun, error) {
	const query = `
		WITH RECURSIVE chain AS (
			SELECT id, run_name, relation_type, relation_run, run_spec_digest, 1 AS depth FROM actions
			WHERE project = $1 AND domain = $2 AND run_name = $3 AND parent_name IS NULL AND id < $4
			UNION ALL
			SELECT a.id, a.run_name, a.relation_type, a.relation_run, a.run_spec_digest, chain.depth + 1
			FROM chain JOIN actions a ON a.project = $1 AND a.domain = $2 AND a.run_name = chain.relation_run
				AND a.parent_name IS NULL AND a.id < chain.id
			WHERE chain.relation_type = ` + sqltext.Recovery + ` AND chain.relation_run <> '' AND chain.depth < $5
		)
		SELECT chain.id, chain.run_name, s.body FROM chain LEFT JOIN specs s ON s.digest = chain.run_spec_digest ORDER BY chain.depth`
	rows, err := r.pool.Query(ctx, query, source.Project, source.Domain, source.Name, younger, maxSources)
	if err != nil {
		return nil, fmt.Errorf("read sources of a recovery: %w", err)
	}
	runs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[SourceRun])
	if err != nil {
		return nil, fmt.Errorf("read sources of a recovery: %w", err)
	}
	return runs, nil
}

// WithAncestors returns those of the names that exist in one of the runs, and the names of all their ancestors.
func (r *Reader) WithAncestors(ctx context.Context, runIDs []int64, names []string) ([]string, error) {
	const query = `
		WITH RECURSIVE up AS (
			SELECT a.name, a.parent_name FROM unnest($1::bigint[]) AS r (run) CROSS JOIN unnest($2::text[]) AS k (name)
			CROSS JOIN LATERAL (
				SELECT * FROM actions WHERE run_id = r.run AND name BETWEEN k.name AND k.name ORDER BY name LIMIT 1) AS a
			UNION
			SELECT a.name, a.parent_name FROM up CROSS JOIN unnest($1::bigint[]) AS r (run)
			CROSS JOIN LATERAL (
				SELECT * FROM actions WHERE run_id = r.run AND name BETWEEN up.parent_name AND up.parent_name ORDER BY name LIMIT 1) AS a
		)
		SELECT DISTINCT name FROM up`
	var found []string
	err := r.byIndex(ctx, query, []any{runIDs, names}, func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read ancestors: %w", err)
	}
	return found, nil
}

const resultColumns = `run_id, run_name, name, parent_name, action_group, action_type, phase, task_name, task_type, short_name,
	function_name, spec_digest, input_uri, output_uri, report_uri, signal, recovered_from`

// Results reads the actions of one name in some runs, at most one of each run.
func (r *Reader) Results(ctx context.Context, runIDs []int64, name string) ([]schema.Result, error) {
	const query = `
		SELECT ` + resultColumns + ` FROM unnest($1::bigint[]) AS k (run)
		CROSS JOIN LATERAL (
			SELECT * FROM actions WHERE run_id = k.run AND name BETWEEN $2 AND $2 ORDER BY name LIMIT 1) AS a`
	return r.results(ctx, query, runIDs, name)
}

// TraceResults reads the traces below the actions of one name in some runs, oldest first within each run, up to a
// limit.
func (r *Reader) TraceResults(ctx context.Context, runIDs []int64, parent string, limit int) ([]schema.Result, error) {
	const query = `
		SELECT ` + resultColumns + ` FROM actions
		WHERE run_id = ANY($1) AND parent_name = $2 AND action_type = ` + sqltext.Trace + ` ORDER BY id LIMIT $3`
	return r.results(ctx, query, runIDs, parent, limit)
}

func (r *Reader) results(ctx context.Context, query string, args ...any) (results []schema.Result, err error) {
	err = r.byIndex(ctx, query, args, func(rows pgx.Rows) (err error) {
		results, err = pgx.CollectRows(rows, pgx.RowToStructByPos[schema.Result])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	return results, nil
}

// byIndex runs a query that must use indexes, whatever the statistics of young tables say. It costs one round trip.
func (r *Reader) byIndex(ctx context.Context, query string, args []any, collect func(pgx.Rows) error) error {
	const walk = `SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) AS name`
	var batch pgx.Batch // one transaction, which is what the settings are local to
	batch.Queue(walk)
	batch.Queue(query, args...).Query(collect)
	return r.pool.SendBatch(ctx, &batch).Close()
}

// PreviewedAction is an action of a run in the preview of its recovery.
type PreviewedAction struct {
	ID         int64
	Name       string
	ParentName *string
	ActionType int16
	Phase      int16
	OutputURI  string
	SpecDigest []byte
}

// EachAction calls fn with all actions of a run, parents before children, in a fixed order. It holds only a few rows
// in memory. An error of fn stops it and is returned.
func (r *Reader) EachAction(ctx context.Context, runID int64, fn func(*PreviewedAction) error) error {
	const query = `
		SELECT id, name, parent_name, action_type, phase, output_uri, spec_digest FROM actions WHERE run_id = $1 ORDER BY created_at, id`
	rows, err := r.pool.Query(ctx, query, runID)
	if err != nil {
		return fmt.Errorf("read actions of run %d: %w", runID, err)
	}
	defer rows.Close()
	for rows.Next() {
		var a PreviewedAction
		if err := rows.Scan(&a.ID, &a.Name, &a.ParentName, &a.ActionType, &a.Phase, &a.OutputURI, &a.SpecDigest); err != nil {
			return fmt.Errorf("read actions of run %d: %w", runID, err)
		}
		if err := fn(&a); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read actions of run %d: %w", runID, err)
	}
	return nil
}
