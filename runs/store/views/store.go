// Package views stores queries of runs with a name: a person's own, and those of a project.
package views

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// maxViews is how many views a project or a person may have.
const maxViews = 100

// Owner is whose views are meant: those of a project, or the own ones of a subject if Project is empty.
type Owner struct{ Project, Subject string }

func (o Owner) String() string {
	if o.Project != "" {
		return "project " + o.Project
	}
	return "you"
}

// View is a query with a name.
type View struct {
	Name, Query string
	Order       int16 // insight.RunOrder
	Pinned      bool
	UpdatedBy   string
	UpdatedAt   time.Time
}

// Store keeps views.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// List reads the views of an owner, by name.
func (s *Store) List(ctx context.Context, owner Owner) ([]View, error) {
	rows, err := s.pool.Query(ctx, `SELECT name, query, sort_order, pinned, updated_by, updated_at FROM views
		WHERE project = $1 AND subject = $2 ORDER BY name`, owner.Project, owner.Subject)
	if err != nil {
		return nil, fmt.Errorf("list views: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[View])
	if err != nil {
		return nil, fmt.Errorf("list views: %w", err)
	}
	return found, nil
}

// Put creates or replaces a view. It is a FailedPrecondition error for an owner with too many.
func (s *Store) Put(ctx context.Context, owner Owner, v View) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		// One at a time for each owner, so that the number is right.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('views/' || $1 || '/' || $2, 0))`, owner.Project, owner.Subject); err != nil {
			return err
		}
		var others int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM views WHERE project = $1 AND subject = $2 AND name <> $3`,
			owner.Project, owner.Subject, v.Name).Scan(&others); err != nil {
			return err
		}
		if others >= maxViews {
			return rpc.FailedPrecondition("there can be %d views of %s; delete one first", maxViews, owner)
		}
		_, err := tx.Exec(ctx, `INSERT INTO views (project, subject, name, query, sort_order, pinned, updated_by, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (project, subject, name) DO UPDATE SET query = EXCLUDED.query, sort_order = EXCLUDED.sort_order,
				pinned = EXCLUDED.pinned, updated_by = EXCLUDED.updated_by, updated_at = EXCLUDED.updated_at`,
			owner.Project, owner.Subject, v.Name, v.Query, v.Order, v.Pinned, v.UpdatedBy, v.UpdatedAt)
		return err
	})
	if err != nil {
		return fmt.Errorf("save view %q: %w", v.Name, err)
	}
	return nil
}

// Delete deletes a view, if it exists.
func (s *Store) Delete(ctx context.Context, owner Owner, name string) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM views WHERE project = $1 AND subject = $2 AND name = $3`, owner.Project, owner.Subject, name)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete view %q: %w", name, err)
	}
	return nil
}
