package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

// Uses are what the inputs of an app refer to.
type Uses struct {
	Artifacts []Artifact
	// Runs are those whose outputs are inputs.
	Runs []ident.Run
}

func queueUses(batch *pgx.Batch, id int64, uses *Uses) {
	if uses == nil {
		return
	}
	batch.Queue(`DELETE FROM app_artifacts WHERE app_id = $1`, id)
	for _, used := range uses.Artifacts {
		batch.Queue(`INSERT INTO app_artifacts (app_id, project, domain, name, version) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
			id, used.Project, used.Domain, used.Name, used.Version)
	}
	batch.Queue(`DELETE FROM app_runs WHERE app_id = $1`, id)
	for _, used := range uses.Runs {
		batch.Queue(`INSERT INTO app_runs (project, domain, run, app_id) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
			used.Project, used.Domain, used.Name, id)
	}
}

// OfRun reads the apps that use outputs of a run, within the scope of the call, before one, newest first; before 0 means the
// newest.
func (s *Store) OfRun(ctx context.Context, run ident.Run, before int64, limit int) ([]*App, error) {
	var b listquery.Builder
	b.Equal("u.project", run.Project)
	b.Equal("u.domain", run.Domain)
	b.Equal("u.run", run.Name)
	if before != 0 {
		b.Where("u.app_id < " + b.Arg(before, "bigint"))
	}
	listquery.Narrow(ctx, &b, "a.project", "a.domain")
	last := b.Arg(limit, "bigint")
	found, err := readApps(ctx, s.pool, `SELECT `+appColumns+` FROM app_runs u JOIN apps a ON a.id = u.app_id WHERE `+b.Conditions()+
		` ORDER BY u.app_id DESC LIMIT `+last, b.Args()...)
	if err != nil {
		return nil, fmt.Errorf("read the apps of a run: %w", err)
	}
	return found, nil
}

// ArtifactUser is an app that uses a version of an artifact.
type ArtifactUser struct {
	Artifact
	App Key
}

// ArtifactUsers reads which apps use these versions, newest apps first.
func (s *Store) ArtifactUsers(ctx context.Context, versions []Artifact, limit int) ([]ArtifactUser, error) {
	var projects, domains, names, numbers []string
	for _, v := range versions {
		projects, domains, names, numbers = append(projects, v.Project), append(domains, v.Domain), append(names, v.Name), append(numbers, v.Version)
	}
	rows, err := s.pool.Query(ctx, `SELECT u.project, u.domain, u.name, u.version, a.project, a.domain, a.name
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k(project, domain, name, version)) k
		JOIN app_artifacts u USING (project, domain, name, version) JOIN apps a ON a.id = u.app_id
		ORDER BY a.id DESC, u.project, u.domain, u.name, u.version LIMIT $5`, projects, domains, names, numbers, limit)
	if err != nil {
		return nil, fmt.Errorf("read the apps of artifacts: %w", err)
	}
	users, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (u ArtifactUser, err error) {
		return u, row.Scan(&u.Project, &u.Domain, &u.Name, &u.Version, &u.App.Project, &u.App.Domain, &u.App.Name)
	})
	if err != nil {
		return nil, fmt.Errorf("read the apps of artifacts: %w", err)
	}
	return users, nil
}

// RunUser is an app that uses outputs of a run.
type RunUser struct {
	Run ident.Run
	App Key
}

// RunUsers reads which apps use outputs of these runs, newest apps first.
func (s *Store) RunUsers(ctx context.Context, runs []ident.Run, limit int) ([]RunUser, error) {
	var projects, domains, names []string
	for _, r := range runs {
		projects, domains, names = append(projects, r.Project), append(domains, r.Domain), append(names, r.Name)
	}
	rows, err := s.pool.Query(ctx, `SELECT u.project, u.domain, u.run, a.project, a.domain, a.name
		FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[], $3::text[]) AS k(project, domain, run)) k
		JOIN app_runs u USING (project, domain, run) JOIN apps a ON a.id = u.app_id
		ORDER BY a.id DESC, u.project, u.domain, u.run LIMIT $4`, projects, domains, names, limit)
	if err != nil {
		return nil, fmt.Errorf("read the apps of runs: %w", err)
	}
	users, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (u RunUser, err error) {
		return u, row.Scan(&u.Run.Project, &u.Run.Domain, &u.Run.Name, &u.App.Project, &u.App.Domain, &u.App.Name)
	})
	if err != nil {
		return nil, fmt.Errorf("read the apps of runs: %w", err)
	}
	return users, nil
}
