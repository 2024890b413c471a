package lists

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Details is everything stored about one action, read in one snapshot.
type Details struct {
	schema.Action
	// Spec is the encoded spec of the action's type.
	Spec []byte
	// RunSpec is the encoded task.RunSpec of the run, as the caller requested it. Only RunDetails fills it in.
	RunSpec []byte
	// RunStartTime is the start of the run as its tasks see it. Only RunDetails fills it in.
	RunStartTime *time.Time
	// Events are all events of the action, in order.
	Events []schema.Event
}

// ActionDetails reads an action with its spec and all its events. It returns NotFound when the action does not exist.
func (r *Reader) ActionDetails(ctx context.Context, id ident.Action) (*Details, error) {
	return r.details(ctx, id, false)
}

// RunDetails is ActionDetails for the root action of a run, with the run spec.
func (r *Reader) RunDetails(ctx context.Context, run ident.Run) (*Details, error) {
	return r.details(ctx, run.Root(), true)
}

// ActionRow reads an action without its spec and events.
func (r *Reader) ActionRow(ctx context.Context, id ident.Action) (*schema.Action, error) {
	d := &Details{}
	if err := readDetails(ctx, r.pool, id, d, false); err != nil {
		return nil, err
	}
	return &d.Action, nil
}

// RunContext reads what the actions of a run inherit: the root's id, queue and output base, and the encoded
// task.RunSpec, which is empty when the run has none. It returns NotFound when the run does not exist.
func (r *Reader) RunContext(ctx context.Context, run ident.Run) (root schema.Root, runSpec []byte, err error) {
	const query = `
		SELECT a.id, a.queue, a.run_output_base, s.body FROM actions a LEFT JOIN specs s ON s.digest = a.run_spec_digest
		WHERE a.project = $1 AND a.domain = $2 AND a.run_name = $3 AND a.parent_name IS NULL`
	err = r.pool.QueryRow(ctx, query, run.Project, run.Domain, run.Name).Scan(&root.ID, &root.Queue, &root.RunOutputBase, &runSpec)
	if errors.Is(err, pgx.ErrNoRows) {
		return root, nil, rpc.NotFound("run %s does not exist", run)
	}
	if err != nil {
		return root, nil, fmt.Errorf("read context of run %s: %w", run, err)
	}
	return root, runSpec, nil
}

func (r *Reader) details(ctx context.Context, id ident.Action, withRunSpec bool) (*Details, error) {
	d := &Details{}
	err := sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		if err := readDetails(ctx, tx, id, d, true); err != nil {
			return err
		}
		if withRunSpec {
			const query = `SELECT s.body, a.run_start_time FROM actions a LEFT JOIN specs s ON s.digest = a.run_spec_digest WHERE a.id = $1`
			if err := tx.QueryRow(ctx, query, d.RunID).Scan(&d.RunSpec, &d.RunStartTime); err != nil {
				return fmt.Errorf("read run spec of %s: %w", id, err)
			}
		}
		return readEvents(ctx, tx, d)
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// querier is what a pool and a transaction have in common.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func readDetails(ctx context.Context, db querier, id ident.Action, d *Details, withSpec bool) error {
	const query = `
		SELECT ` + ListedColumns + `, a.spec_digest, a.input_uri, a.output_uri, a.report_uri, a.error, a.abort_reason,
			a.aborted_by, a.signal, s.body
		FROM actions r JOIN actions a ON a.run_id = r.id AND a.name = $4 LEFT JOIN specs s ON $5 AND s.digest = a.spec_digest
		WHERE r.project = $1 AND r.domain = $2 AND r.run_name = $3 AND r.parent_name IS NULL`
	targets := append(ListedTargets(&d.Action), &d.SpecDigest, &d.InputURI, &d.OutputURI, &d.ReportURI, &d.Error,
		&d.AbortReason, &d.AbortedBy, &d.Signal, &d.Spec)
	err := db.QueryRow(ctx, query, id.Run.Project, id.Run.Domain, id.Run.Name, id.Name, withSpec).Scan(targets...)
	if errors.Is(err, pgx.ErrNoRows) {
		return rpc.NotFound("action %s does not exist", id)
	}
	if err != nil {
		return fmt.Errorf("read action %s: %w", id, err)
	}
	return nil
}

func readEvents(ctx context.Context, db querier, d *Details) error {
	const query = `
		SELECT run_id, seq, action_id, attempt, phase, version, recorded_at, event, error
		FROM action_events WHERE action_id = $1 ORDER BY seq`
	rows, err := db.Query(ctx, query, d.ID)
	if err != nil {
		return fmt.Errorf("read events of action %d: %w", d.ID, err)
	}
	if d.Events, err = pgx.CollectRows(rows, pgx.RowToStructByPos[schema.Event]); err != nil {
		return fmt.Errorf("read events of action %d: %w", d.ID, err)
	}
	return nil
}
