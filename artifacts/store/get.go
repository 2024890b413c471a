package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Get reads a version; nil when there is none.
func (s *Store) Get(ctx context.Context, key VersionKey) (*Version, error) {
	return one(s.pool.QueryRow(ctx, `SELECT `+versionColumns+` FROM artifact_versions v
		WHERE v.project = $1 AND v.domain = $2 AND v.name = $3 AND v.version = $4`, key.Project, key.Domain, key.Name.Name, key.Version))
}

// Latest reads the newest version of a name; nil when there is none.
func (s *Store) Latest(ctx context.Context, name Name) (*Version, error) {
	return one(s.pool.QueryRow(ctx, `SELECT `+versionColumns+` FROM artifact_names n JOIN artifact_versions v ON v.id = n.latest_id
		WHERE n.project = $1 AND n.domain = $2 AND n.name = $3`, name.Project, name.Domain, name.Name))
}

func one(row pgx.Row) (*Version, error) {
	v := &Version{}
	err := row.Scan(v.targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // none is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("read artifact: %w", err)
	}
	return v, nil
}

// Find reads those of the versions that exist, in no particular order.
func (s *Store) Find(ctx context.Context, keys []VersionKey) ([]Version, error) {
	projects, domains, names, versions := keyColumns(keys)
	return collectVersions(s.pool.Query(ctx, `SELECT `+versionColumns+`
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])) AS k(project, domain, name, version)
		JOIN artifact_versions v ON v.project = k.project AND v.domain = k.domain AND v.name = k.name AND v.version = k.version`,
		projects, domains, names, versions))
}

// Origin says where a version came from.
type Origin struct {
	VersionKey
	SourceRun string
	Parents   []VersionKey
}

// Origins reads where those of the versions that exist came from.
func (s *Store) Origins(ctx context.Context, keys []VersionKey) ([]Origin, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	projects, domains, names, versions := keyColumns(keys)
	rows, err := s.pool.Query(ctx, `
		SELECT v.project, v.domain, v.name, v.version, v.source_run, p.project, p.domain, p.name, p.version
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])) AS k(project, domain, name, version)
		JOIN artifact_versions v ON v.project = k.project AND v.domain = k.domain AND v.name = k.name AND v.version = k.version
		LEFT JOIN artifact_parents p ON p.version_id = v.id
		ORDER BY v.created_at DESC, v.id DESC, p.position`, projects, domains, names, versions)
	if err != nil {
		return nil, fmt.Errorf("read origins of artifacts: %w", err)
	}
	var found []Origin
	var o Origin
	var project, domain, name, version *string
	_, err = pgx.ForEachRow(rows, []any{&o.Project, &o.Domain, &o.Name.Name, &o.Version, &o.SourceRun, &project, &domain, &name, &version}, func() error {
		if len(found) == 0 || found[len(found)-1].VersionKey != o.VersionKey {
			found = append(found, o)
		}
		if project != nil {
			last := &found[len(found)-1]
			last.Parents = append(last.Parents, VersionKey{Name{*project, *domain, *name}, *version})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read origins of artifacts: %w", err)
	}
	return found, nil
}

// Link says that a version names another as its parent.
type Link struct{ Parent, Child VersionKey }

// Descendants reads the versions that name one of the given ones as a parent, newest first.
func (s *Store) Descendants(ctx context.Context, keys []VersionKey, limit int) ([]Link, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	projects, domains, names, versions := keyColumns(keys)
	rows, err := s.pool.Query(ctx, `
		SELECT p.project, p.domain, p.name, p.version, v.project, v.domain, v.name, v.version
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])) AS k(project, domain, name, version)
		JOIN artifact_parents p ON p.project = k.project AND p.domain = k.domain AND p.name = k.name AND p.version = k.version
		JOIN artifact_versions v ON v.id = p.version_id
		ORDER BY v.created_at DESC, v.id DESC LIMIT $5`, projects, domains, names, versions, limit)
	if err != nil {
		return nil, fmt.Errorf("read descendants of artifacts: %w", err)
	}
	links, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Link, error) {
		var l Link
		return l, row.Scan(&l.Parent.Project, &l.Parent.Domain, &l.Parent.Name.Name, &l.Parent.Version,
			&l.Child.Project, &l.Child.Domain, &l.Child.Name.Name, &l.Child.Version)
	})
	if err != nil {
		return nil, fmt.Errorf("read descendants of artifacts: %w", err)
	}
	return links, nil
}

// Run is a run as a source.
type Run struct{ Project, Domain, Name string }

// Made is a version with the run that made it.
type Made struct {
	VersionKey
	SourceRun string
}

// ProducedBy reads versions that runs made, newest first.
func (s *Store) ProducedBy(ctx context.Context, runs []Run, limit int) ([]Made, error) {
	if len(runs) == 0 {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, `
		SELECT v.project, v.domain, v.name, v.version, v.source_run
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[])) AS r(project, domain, name)
		JOIN artifact_versions v ON v.project = r.project AND v.domain = r.domain AND v.source_run = r.name AND v.source_run <> ''
		ORDER BY v.created_at DESC, v.id DESC LIMIT $4`,
		column(runs, func(r Run) string { return r.Project }), column(runs, func(r Run) string { return r.Domain }),
		column(runs, func(r Run) string { return r.Name }), limit)
	if err != nil {
		return nil, fmt.Errorf("read artifacts of runs: %w", err)
	}
	made, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Made, error) {
		var m Made
		return m, row.Scan(&m.Project, &m.Domain, &m.Name.Name, &m.Version, &m.SourceRun)
	})
	if err != nil {
		return nil, fmt.Errorf("read artifacts of runs: %w", err)
	}
	return made, nil
}

func keyColumns(keys []VersionKey) (projects, domains, names, versions []string) {
	return column(keys, func(k VersionKey) string { return k.Project }), column(keys, func(k VersionKey) string { return k.Domain }),
		column(keys, func(k VersionKey) string { return k.Name.Name }), column(keys, func(k VersionKey) string { return k.Version })
}
