package measured

import (
	"context"
	"crypto/md5" //nolint:gosec // tells URIs apart, and protects nothing
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// uploadKept is how long who uploaded an object is remembered after the object was last seen: longer than a signed URL is valid.
const uploadKept = `interval '8 days'`

// Part is what one caller has in one project.
type Part struct {
	// Row is the project.
	Row
	// Of the caller, as Bytes and Added of the project.
	CallerBytes, CallerAdded int64
}

// OfCaller reads what a caller has, by project, the most first.
func (s *Store) OfCaller(ctx context.Context, caller string) ([]Part, error) {
	rows, err := s.pool.Query(ctx, `SELECT s.project, `+columns+`, c.bytes, c.added FROM stored_callers c JOIN stored s USING (project)
		WHERE c.caller = $1 AND c.caller <> '' AND c.bytes + c.added > 0 ORDER BY c.bytes + c.added DESC, project`, caller)
	if err != nil {
		return nil, fmt.Errorf("read what %s has stored: %w", caller, err)
	}
	parts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Part, err error) {
		return p, row.Scan(append(p.targets(), &p.CallerBytes, &p.CallerAdded)...)
	})
	if err != nil {
		return nil, fmt.Errorf("read what %s has stored: %w", caller, err)
	}
	return parts, nil
}

// ByCaller is what each caller has in all projects together, without what has no caller.
func (s *Store) ByCaller(ctx context.Context) (map[string]int64, error) {
	rows, err := s.pool.Query(ctx, `SELECT caller, sum(bytes + added)::bigint FROM stored_callers WHERE caller <> '' GROUP BY caller`)
	if err != nil {
		return nil, fmt.Errorf("read what callers have stored: %w", err)
	}
	all := map[string]int64{}
	var caller string
	var bytes int64
	if _, err := pgx.ForEachRow(rows, []any{&caller, &bytes}, func() error { all[caller] = bytes; return nil }); err != nil {
		return nil, fmt.Errorf("read what callers have stored: %w", err)
	}
	return all, nil
}

// ProjectsOf are the projects in which callers have data who have a number of bytes or more in all projects together.
func (s *Store) ProjectsOf(ctx context.Context, bytes int64) (map[string]bool, error) {
	rows, err := s.pool.Query(ctx, `SELECT DISTINCT project FROM stored_callers WHERE bytes + added > 0 AND caller IN (
		SELECT caller FROM stored_callers WHERE caller <> '' GROUP BY caller HAVING sum(bytes + added) >= $1)`, bytes)
	if err != nil {
		return nil, fmt.Errorf("read whose callers have stored much: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read whose callers have stored much: %w", err)
	}
	found := map[string]bool{}
	for _, name := range names {
		found[name] = true
	}
	return found, nil
}

// Directory is one that a run of a project may have.
type Directory struct{ Domain, Name string }

// Creators finds who created the runs that have directories below a project of some base. names are the names that the runs of
// the directories would have. What belongs to no run is not in the answer.
func (s *Store) Creators(ctx context.Context, project string, names map[Directory]string) (map[Directory]string, error) {
	domains, runs, bases := []string{}, []string{}, []string{}
	for dir, run := range names {
		domains, runs = append(domains, dir.Domain), append(runs, run)
		bases = append(bases, "/"+project+"/"+dir.Domain+"/"+dir.Name+"/")
	}
	rows, err := s.pool.Query(ctx, `SELECT d.domain, d.base, a.created_by_subject
		FROM unnest($2::text[], $3::text[], $4::text[]) AS d (domain, run, base)
		JOIN actions a ON a.project = $1 AND a.domain = d.domain AND a.run_name = d.run AND a.parent_name IS NULL
		WHERE right(a.run_output_base, length(d.base)) = d.base`, project, domains, runs, bases)
	if err != nil {
		return nil, fmt.Errorf("read who created runs of project %s: %w", project, err)
	}
	found := map[Directory]string{}
	var domain, base, subject string
	if _, err := pgx.ForEachRow(rows, []any{&domain, &base, &subject}, func() error {
		found[Directory{domain, base[len("/"+project+"/"+domain+"/") : len(base)-1]}] = subject
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read who created runs of project %s: %w", project, err)
	}
	return found, nil
}

// AddUpload remembers who asks to upload an object. The first who asks keeps it.
func (s *Store) AddUpload(ctx context.Context, project, uri, caller string, now time.Time) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO stored_uploads (project, digest, caller, seen_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		project, digestOf(uri), caller, now)
	if err != nil {
		return fmt.Errorf("store who uploads to project %s: %w", project, err)
	}
	return nil
}

// Uploaders finds who uploaded objects, by their URIs, and remembers that the objects were seen. What no caller has asked to upload
// is not in the answer.
func (s *Store) Uploaders(ctx context.Context, project string, uris []string, now time.Time) (map[string]string, error) {
	digests, byDigest := make([][]byte, len(uris)), map[string]string{}
	for i, uri := range uris {
		digests[i] = digestOf(uri)
		byDigest[string(digests[i])] = uri
	}
	rows, err := s.pool.Query(ctx, `
		WITH seen AS (UPDATE stored_uploads SET seen_at = $3::timestamptz WHERE project = $1 AND digest = ANY ($2) AND seen_at < $3::timestamptz - interval '1 day')
		SELECT digest, caller FROM stored_uploads WHERE project = $1 AND digest = ANY ($2)`, project, digests, now)
	if err != nil {
		return nil, fmt.Errorf("read who uploaded to project %s: %w", project, err)
	}
	found := map[string]string{}
	var digest []byte
	var caller string
	if _, err := pgx.ForEachRow(rows, []any{&digest, &caller}, func() error { found[byDigest[string(digest)]] = caller; return nil }); err != nil {
		return nil, fmt.Errorf("read who uploaded to project %s: %w", project, err)
	}
	return found, nil
}

func digestOf(uri string) []byte {
	digest := md5.Sum([]byte(uri)) //nolint:gosec // as above
	return digest[:]
}
