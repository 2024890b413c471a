package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Any reports whether there is a version at all.
func (s *Store) Any(ctx context.Context) (found bool, err error) {
	if err := s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM artifact_versions)`).Scan(&found); err != nil {
		return false, fmt.Errorf("look for artifacts: %w", err)
	}
	return found, nil
}

// Pointer is a version that points to an object, with the action that made it.
type Pointer struct {
	URI string
	Made
	SourceAction string
}

// PointingTo reads the versions that point to objects: for each object at most limit, the newest first.
func (s *Store) PointingTo(ctx context.Context, uris []string, limit int) ([]Pointer, error) {
	if len(uris) == 0 {
		return nil, nil
	}
	rows, err := s.pool.Query(ctx, `
		SELECT u.uri, v.project, v.domain, v.name, v.version, v.source_run, v.source_action FROM unnest($1::text[]) AS u (uri)
		CROSS JOIN LATERAL (SELECT version_id FROM artifact_data d WHERE d.uri = u.uri ORDER BY version_id DESC LIMIT $2) d
		JOIN artifact_versions v ON v.id = d.version_id
		ORDER BY v.id DESC`, uris, limit)
	if err != nil {
		return nil, fmt.Errorf("find artifacts by their data: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Pointer, error) {
		var p Pointer
		return p, row.Scan(&p.URI, &p.Project, &p.Domain, &p.Name.Name, &p.Version, &p.SourceRun, &p.SourceAction)
	})
	if err != nil {
		return nil, fmt.Errorf("find artifacts by their data: %w", err)
	}
	return found, nil
}
