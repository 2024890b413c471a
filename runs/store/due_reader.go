package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// DueReader reads which actions the engine has to look at by itself.
type DueReader struct{ pool *pgxpool.Pool }

// NewDueReader makes a reader on a pool that it does not own.
func NewDueReader(pool *pgxpool.Pool) *DueReader { return &DueReader{pool: pool} }

// DueAction is an action with something due.
type DueAction struct {
	Ref
	WakeAt        time.Time
	Due           Due
	Attempt       int32
	SpecDigest    []byte
	InputURI      string
	RunOutputBase string
}

// Due reads what is due up to a time, without starts, earliest first. It costs what it returns, however many wait.
func (d *DueReader) Due(ctx context.Context, until time.Time, limit int) ([]DueAction, error) {
	return d.read(ctx, `due > 1`, until, limit)
}

// Starts reads the actions that the engine is to start, likewise.
func (d *DueReader) Starts(ctx context.Context, until time.Time, limit int) ([]DueAction, error) {
	return d.read(ctx, `due = 1`, until, limit)
}

// read takes the condition of one of the partial indexes.
func (d *DueReader) read(ctx context.Context, which string, until time.Time, limit int) ([]DueAction, error) {
	query := `
		SELECT a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.wake_at, a.due, a.attempt, a.spec_digest, a.input_uri, r.run_output_base
		FROM (SELECT * FROM actions WHERE ` + which + ` AND wake_at <= $1 ORDER BY wake_at, id LIMIT $2) a
		JOIN actions r ON r.id = a.run_id
		ORDER BY a.wake_at, a.id`
	var due []DueAction
	var statements pgx.Batch // one transaction, whose statements must use the partial indexes
	statements.Queue(planning)
	statements.Queue(query, until, limit).Query(func(rows pgx.Rows) (err error) {
		due, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (DueAction, error) {
			var a DueAction
			return a, row.Scan(&a.ID, &a.RunID, &a.Project, &a.Domain, &a.RunName, &a.Name, &a.WakeAt, &a.Due, &a.Attempt,
				&a.SpecDigest, &a.InputURI, &a.RunOutputBase)
		})
		return err
	})
	if err := d.pool.SendBatch(ctx, &statements).Close(); err != nil {
		return nil, fmt.Errorf("read what is due: %w", err)
	}
	return due, nil
}
