// Package stars stores which runs and tasks people have marked with a star.
package stars

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// maxStars is how many stars a person may have.
const maxStars = 200

// Kind is what has a star. The numbers are stored.
type Kind int16

// The kinds.
const (
	Run  Kind = 1
	Task Kind = 2
)

// Target is what has a star.
type Target struct {
	schema.Scope
	Kind Kind
	Name string
}

// Star is a star of a person.
type Star struct {
	Target
	CreatedAt time.Time
	// Run is the root action; nil for a task, and for a run that no longer exists.
	Run *lists.Listed
}

// Store keeps stars.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// For BETWEEN, see lists.RunSummaries.
const starredRoots = `SELECT ` + lists.ListedColumns + `, a.labels FROM unnest($1::text[], $2::text[], $3::text[]) AS k (project, domain, name)
	CROSS JOIN LATERAL (SELECT * FROM actions WHERE project = k.project AND domain = k.domain AND run_name BETWEEN k.name AND k.name AND parent_name IS NULL
		ORDER BY run_name LIMIT 1) AS a`

// List reads the stars of a subject in the scope of the call, the newest first.
func (s *Store) List(ctx context.Context, subject string) (stars []Star, err error) {
	b := listquery.Builder{}
	b.Equal("s.subject", subject)
	listquery.Narrow(ctx, &b, "s.project", "s.domain")
	err = sqltext.Snapshot(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT s.project, s.domain, s.kind, s.name, s.created_at FROM stars s WHERE `+b.Conditions()+
			` ORDER BY s.created_at DESC, s.kind, s.name LIMIT `+strconv.Itoa(maxStars), b.Args()...)
		if err != nil {
			return err
		}
		stars, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Star, error) {
			var star Star
			return star, row.Scan(&star.Project, &star.Domain, &star.Kind, &star.Name, &star.CreatedAt)
		})
		if err != nil {
			return err
		}
		return readRuns(ctx, tx, stars)
	})
	if err != nil {
		return nil, fmt.Errorf("list stars: %w", err)
	}
	return stars, nil
}

// readRuns reads the runs of stars.
func readRuns(ctx context.Context, tx pgx.Tx, stars []Star) error {
	var projects, domains, names []string
	at := map[Target]int{}
	for i := range stars {
		if stars[i].Kind == Run {
			projects, domains, names = append(projects, stars[i].Project), append(domains, stars[i].Domain), append(names, stars[i].Name)
			at[stars[i].Target] = i
		}
	}
	if len(names) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, starredRoots, projects, domains, names)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (lists.Listed, error) {
		var run lists.Listed
		return run, row.Scan(append(lists.ListedTargets(&run.Action), &run.Labels)...)
	})
	for i := range found {
		stars[at[Target{schema.Scope{Project: found[i].Project, Domain: found[i].Domain}, Run, found[i].RunName}]].Run = &found[i]
	}
	return err
}

// Add gives a star, unless it is there. It is a FailedPrecondition error for a subject with too many.
func (s *Store) Add(ctx context.Context, subject string, of Target, now time.Time) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		// One at a time for each subject, so that the number is right.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('stars/' || $1, 0))`, subject); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO stars (subject, project, domain, kind, name, created_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
			subject, of.Project, of.Domain, of.Kind, of.Name, now); err != nil {
			return err
		}
		var count int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM stars WHERE subject = $1`, subject).Scan(&count); err != nil {
			return err
		}
		if count > maxStars {
			return rpc.FailedPrecondition("you can have %d stars; remove one first", maxStars)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add a star: %w", err)
	}
	return nil
}

// Remove takes a star away, if it exists.
func (s *Store) Remove(ctx context.Context, subject string, of Target) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM stars WHERE subject = $1 AND project = $2 AND domain = $3 AND kind = $4 AND name = $5`,
			subject, of.Project, of.Domain, of.Kind, of.Name)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove a star: %w", err)
	}
	return nil
}
