package worklists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// DueReader reads the actions that the timers of the runs service must handle.
type DueReader struct{ pool *pgxpool.Pool }

// NewDueReader returns a reader on a pool that the caller owns.
func NewDueReader(pool *pgxpool.Pool) *DueReader { return &DueReader{pool: pool} }

// DueAction is an action with due work.
type DueAction struct {
	schema.Ref
	WakeAt        time.Time
	Due           schema.Due
	Attempt       int32
	SpecDigest    []byte
	InputURI      string
	RunOutputBase string
}

// Due reads the work that is due up to a time, except starts, earliest first. Its cost depends on what it returns,
// not on how many actions wait.
func (d *DueReader) Due(ctx context.Context, until time.Time, limit int) ([]DueAction, error) {
	return d.read(ctx, `due > `+sqltext.DueStart, until, limit)
}

// Starts reads the actions that the runs service must start up to a time, earliest first.
func (d *DueReader) Starts(ctx context.Context, until time.Time, limit int) ([]DueAction, error) {
	return d.read(ctx, `due = `+sqltext.DueStart, until, limit)
}

// read takes the predicate of one of the partial indexes.
func (d *DueReader) read(ctx context.Context, which string, until time.Time, limit int) ([]DueAction, error) {
	query := `
		SELECT a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.wake_at, a.due, a.attempt, a.spec_digest, a.input_uri, r.run_output_base
		FROM (SELECT * FROM actions WHERE ` + which + ` AND wake_at <= $1 ORDER BY wake_at, id LIMIT $2) a
		JOIN actions r ON r.id = a.run_id
		ORDER BY a.wake_at, a.id`
	var due []DueAction
	var statements pgx.Batch // one transaction, whose statements must use the partial indexes
	statements.Queue(sqltext.Planning)
	statements.Queue(query, until, limit).Query(func(rows pgx.Rows) (err error) {
		due, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (DueAction, error) {
			var a DueAction
			return a, row.Scan(&a.ID, &a.RunID, &a.Project, &a.Domain, &a.RunName, &a.Name, &a.WakeAt, &a.Due, &a.Attempt,
				&a.SpecDigest, &a.InputURI, &a.RunOutputBase)
		})
		return err
	})
	if err := d.pool.SendBatch(ctx, &statements).Close(); err != nil {
		return nil, fmt.Errorf("read due actions: %w", err)
	}
	return due, nil
}
