// Package measured has the SQL of what the object store holds of each project.
package measured

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrSuperseded says that another process continues the listing.
var ErrSuperseded = errors.New("another process continues the listing")

// maxPrefixes bounds the prefixes that are kept for a project.
const maxPrefixes = 1000

// Store reads and writes measurements.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Row is what is known of a project.
type Row struct {
	Project        string
	Bytes, Objects int64
	// MeasuredAt is when the listing began that found them; nil before the first one.
	MeasuredAt *time.Time
	// Added is what was uploaded by way of the server since, in bytes.
	Added int64
	// Listing is under way if BeganAt is set.
	Listing
	// FailedAt is when the listing last failed, unless one has succeeded since.
	FailedAt *time.Time
	Failure  string
}

// Listing is a listing under way.
type Listing struct {
	BeganAt *time.Time
	// Prefix is being listed; Token says from where.
	Prefix, Token string
	// SeenBytes, SeenObjects and SeenPages are those before the token, of all prefixes.
	SeenBytes, SeenObjects, SeenPages int64
}

const columns = `coalesce(s.bytes, 0), coalesce(s.objects, 0), s.measured_at, coalesce(s.added, 0), s.began_at,
	coalesce(s.prefix, ''), coalesce(s.token, ''), coalesce(s.seen_bytes, 0), coalesce(s.seen_objects, 0), coalesce(s.seen_pages, 0),
	s.failed_at, coalesce(s.failure, '')`

func (r *Row) targets() []any {
	return []any{
		&r.Project, &r.Bytes, &r.Objects, &r.MeasuredAt, &r.Added, &r.BeganAt, &r.Prefix, &r.Token, &r.SeenBytes, &r.SeenObjects, &r.SeenPages,
		&r.FailedAt, &r.Failure,
	}
}

// All reads every project, also those that were not measured yet.
func (s *Store) All(ctx context.Context) ([]Row, error) {
	rows, err := s.pool.Query(ctx, `SELECT p.id, `+columns+` FROM projects p LEFT JOIN stored s ON s.project = p.id`)
	if err != nil {
		return nil, fmt.Errorf("read what projects have stored: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r Row, err error) { return r, row.Scan(r.targets()...) })
	if err != nil {
		return nil, fmt.Errorf("read what projects have stored: %w", err)
	}
	return all, nil
}

// Get reads one project. One that was not measured yet has the zero Row with its name.
func (s *Store) Get(ctx context.Context, project string) (Row, error) {
	row := Row{Project: project}
	err := s.pool.QueryRow(ctx, `SELECT s.project, `+columns+` FROM stored s WHERE s.project = $1`, project).Scan(row.targets()...)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Row{}, fmt.Errorf("read what project %s has stored: %w", project, err)
	}
	return row, nil
}

// Begin begins a listing, and forgets one that is under way.
func (s *Store) Begin(ctx context.Context, project string, now time.Time) (Listing, error) {
	var l Listing
	err := s.pool.QueryRow(ctx, `
		WITH forgotten AS (UPDATE stored_callers SET seen_bytes = 0, seen_added = 0 WHERE project = $1)
		INSERT INTO stored AS s (project, began_at) VALUES ($1, $2)
		ON CONFLICT (project) DO UPDATE SET began_at = $2, prefix = '', token = '', seen_bytes = 0, seen_objects = 0, seen_pages = 0, seen_added = 0
		RETURNING s.began_at`, project, now).Scan(&l.BeganAt)
	if err != nil {
		return Listing{}, fmt.Errorf("begin to measure project %s: %w", project, err)
	}
	return l, nil
}

// Advance stores how far a listing has come from one place to another, and how many bytes of each caller it has seen on the way.
// Those of a caller without a name count for the project alone.
func (s *Store) Advance(ctx context.Context, project string, from, to Listing, seen map[string]int64) error {
	callers, bytes := columnsOf(seen)
	return s.change(ctx, project, `
		WITH moved AS (
			UPDATE stored SET prefix = $4, token = $5, seen_bytes = $6, seen_objects = $7, seen_pages = $8
			WHERE project = $1 AND began_at = $2 AND seen_pages = $3 RETURNING project
		), counted AS (
			INSERT INTO stored_callers AS c (project, caller, seen_bytes)
			SELECT m.project, u.caller, u.bytes FROM moved m, unnest($9::text[], $10::bigint[]) AS u (caller, bytes)
			ON CONFLICT (project, caller) DO UPDATE SET seen_bytes = c.seen_bytes + excluded.seen_bytes
		)
		SELECT project FROM moved`,
		from.BeganAt, from.SeenPages, to.Prefix, to.Token, to.SeenBytes, to.SeenObjects, to.SeenPages, callers, bytes)
}

func columnsOf(seen map[string]int64) (callers []string, bytes []int64) {
	callers, bytes = []string{}, []int64{}
	for caller, n := range seen {
		callers, bytes = append(callers, caller), append(bytes, n)
	}
	return callers, bytes
}

// Finish makes what a listing has seen the measurement of its project.
func (s *Store) Finish(ctx context.Context, project string, l Listing) error {
	return s.change(ctx, project, `
		WITH done AS (
			UPDATE stored SET bytes = $4, objects = $5, measured_at = began_at, added = seen_added, began_at = NULL, prefix = '', token = '',
				seen_bytes = 0, seen_objects = 0, seen_pages = 0, seen_added = 0, failed_at = NULL, failure = ''
			WHERE project = $1 AND began_at = $2 AND seen_pages = $3 RETURNING project
		), counted AS (
			UPDATE stored_callers c SET bytes = seen_bytes, added = seen_added, seen_bytes = 0, seen_added = 0
			FROM done WHERE c.project = done.project AND (c.seen_bytes <> 0 OR c.seen_added <> 0)
		), gone AS (
			DELETE FROM stored_callers c USING done WHERE c.project = done.project AND c.seen_bytes = 0 AND c.seen_added = 0
		), forgotten AS (
			DELETE FROM stored_uploads u USING done WHERE u.project = done.project AND u.seen_at < $2::timestamptz - `+uploadKept+`
		)
		SELECT project FROM done`,
		l.BeganAt, l.SeenPages, l.SeenBytes, l.SeenObjects)
}

// Fail stores why a listing has stopped. The last measurement stays, and so does what the listing has seen.
func (s *Store) Fail(ctx context.Context, project string, l Listing, now time.Time, why string) error {
	return s.change(ctx, project, `UPDATE stored SET failed_at = $4, failure = $5 WHERE project = $1 AND began_at = $2 AND seen_pages = $3`,
		l.BeganAt, l.SeenPages, now, why)
}

func (s *Store) change(ctx context.Context, project, statement string, args ...any) error {
	tag, err := s.pool.Exec(ctx, statement, append([]any{project}, args...)...)
	if err != nil {
		return fmt.Errorf("store the measurement of project %s: %w", project, err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("store the measurement of project %s: %w", project, ErrSuperseded)
	}
	return nil
}

// Add counts bytes of each caller that were uploaded since the last measurement. Those of a caller without a name count for the project alone.
func (s *Store) Add(ctx context.Context, project string, of map[string]int64) error {
	callers, bytes := columnsOf(of)
	_, err := s.pool.Exec(ctx, `
		WITH arrived AS (SELECT * FROM unnest($2::text[], $3::bigint[]) AS u (caller, bytes)), counted AS (
			INSERT INTO stored AS s (project, added) SELECT $1, sum(bytes)::bigint FROM arrived
			ON CONFLICT (project) DO UPDATE SET added = s.added + excluded.added, seen_added = s.seen_added + excluded.added
		)
		INSERT INTO stored_callers AS c (project, caller, added) SELECT $1, caller, bytes FROM arrived
		ON CONFLICT (project, caller) DO UPDATE SET added = c.added + excluded.added, seen_added = c.seen_added + excluded.added`,
		project, callers, bytes)
	if err != nil {
		return fmt.Errorf("count an upload of project %s: %w", project, err)
	}
	return nil
}

// AddPrefix remembers where runs of a project have their data. Beyond 1,000 prefixes of a project it forgets new ones.
func (s *Store) AddPrefix(ctx context.Context, project, prefix string) error {
	_, err := s.pool.Exec(ctx, `
		INSERT INTO stored_prefixes (project, prefix) SELECT $1, $2
		WHERE (SELECT count(*) FROM stored_prefixes WHERE project = $1) < $3 ON CONFLICT DO NOTHING`, project, prefix, maxPrefixes)
	if err != nil {
		return fmt.Errorf("store where project %s has data: %w", project, err)
	}
	return nil
}

// Prefixes are those that AddPrefix was given.
func (s *Store) Prefixes(ctx context.Context, project string) ([]string, error) {
	rows, err := s.pool.Query(ctx, `SELECT prefix FROM stored_prefixes WHERE project = $1`, project)
	if err != nil {
		return nil, fmt.Errorf("read where project %s has data: %w", project, err)
	}
	prefixes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read where project %s has data: %w", project, err)
	}
	return prefixes, nil
}
