package lists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// ArtifactUse is a version among the inputs of a run.
type ArtifactUse struct {
	Artifact schema.ArtifactKey
	Run      ident.Run
	// Users are the first actions with the version among their inputs.
	Users []ArtifactUser
}

// ArtifactUser is an action with a version among its inputs, and the short name of its task.
type ArtifactUser struct{ Action, Task string }

// ArtifactUses lists the uses of versions, and those by runs, newest runs first.
func (r *Reader) ArtifactUses(ctx context.Context, artifacts []schema.ArtifactKey, runs []ident.Run, limit int) ([]ArtifactUse, error) {
	const query = `
		SELECT u.project, u.domain, u.name, u.version, a.project, a.domain, a.run_name,
			ARRAY(SELECT b.name FROM actions b WHERE b.id = ANY(u.actions) ORDER BY b.id),
			ARRAY(SELECT b.short_name FROM actions b WHERE b.id = ANY(u.actions) ORDER BY b.id)
		FROM (
			SELECT u.* FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k(project, domain, name, version)
			JOIN artifact_uses u ON u.project = k.project AND u.domain = k.domain AND u.name = k.name AND u.version = k.version
			UNION
			SELECT u.* FROM unnest($5::text[], $6::text[], $7::text[]) AS k(project, domain, name)
			JOIN actions a ON a.parent_name IS NULL AND a.project = k.project AND a.domain = k.domain AND a.run_name = k.name
			JOIN artifact_uses u ON u.run_id = a.id
		) u JOIN actions a ON a.id = u.run_id
		ORDER BY a.created_at DESC, a.id DESC, u.project, u.domain, u.name, u.version LIMIT $8`
	rows, err := r.pool.Query(ctx, query,
		sqltext.Column(artifacts, func(k schema.ArtifactKey) string { return k.Project }), sqltext.Column(artifacts, func(k schema.ArtifactKey) string { return k.Domain }),
		sqltext.Column(artifacts, func(k schema.ArtifactKey) string { return k.Name }), sqltext.Column(artifacts, func(k schema.ArtifactKey) string { return k.Version }),
		sqltext.Column(runs, func(r ident.Run) string { return r.Project }), sqltext.Column(runs, func(r ident.Run) string { return r.Domain }),
		sqltext.Column(runs, func(r ident.Run) string { return r.Name }), limit)
	if err != nil {
		return nil, fmt.Errorf("list uses of artifacts: %w", err)
	}
	uses, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ArtifactUse, error) {
		var u ArtifactUse
		var actions, tasks []string
		err := row.Scan(&u.Artifact.Project, &u.Artifact.Domain, &u.Artifact.Name, &u.Artifact.Version,
			&u.Run.Project, &u.Run.Domain, &u.Run.Name, &actions, &tasks)
		for i, action := range actions {
			u.Users = append(u.Users, ArtifactUser{Action: action, Task: tasks[i]})
		}
		return u, err
	})
	if err != nil {
		return nil, fmt.Errorf("list uses of artifacts: %w", err)
	}
	return uses, nil
}
