package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// BuiltImages remembers which images runs have built.
type BuiltImages struct{ pool *pgxpool.Pool }

// NewBuiltImages returns a store on a pool that the caller owns.
func NewBuiltImages(pool *pgxpool.Pool) *BuiltImages { return &BuiltImages{pool: pool} }

// BuiltImage is an image and the run that built it.
type BuiltImage struct {
	ActionID  int64
	Run       ident.Run
	Name      string
	Reference string
	BuiltAt   time.Time
}

// Find returns the newest image of a name in a project and domain, and whether there is one.
func (b *BuiltImages) Find(ctx context.Context, project, domain, name string) (image BuiltImage, exists bool, err error) {
	const query = `SELECT action_id, run_name, reference, built_at FROM built_images
		WHERE project = $1 AND domain = $2 AND name = $3 ORDER BY built_at DESC, action_id DESC LIMIT 1`
	image = BuiltImage{Run: ident.Run{Project: project, Domain: domain}, Name: name}
	err = b.pool.QueryRow(ctx, query, project, domain, name).Scan(&image.ActionID, &image.Run.Name, &image.Reference, &image.BuiltAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return image, false, nil
	}
	if err != nil {
		return image, false, fmt.Errorf("read image %s: %w", name, err)
	}
	return image, true, nil
}

// UnreadBuild is a successful run of a task whose image is not remembered yet.
type UnreadBuild struct {
	ActionID  int64
	Run       ident.Run
	InputURI  string
	OutputURI string
	BuiltAt   time.Time
	Spec      []byte // task.TaskSpec
}

// Unread returns the oldest successful runs of a task, in a project and domain, that are not remembered.
func (b *BuiltImages) Unread(ctx context.Context, task ident.Run, project, domain string, limit int) ([]UnreadBuild, error) {
	const query = `SELECT a.id, a.run_name, a.input_uri, a.output_uri, a.ended_at, s.body
		FROM actions a JOIN specs s ON s.digest = a.spec_digest
		WHERE a.task_project = $1 AND a.task_domain = $2 AND a.task_name = $3 AND a.action_type = ` + sqltext.Task + ` AND a.ended_at IS NOT NULL
			AND a.parent_name IS NULL AND a.phase = ` + sqltext.Succeeded + ` AND a.project = $4 AND a.domain = $5
			AND NOT EXISTS (SELECT FROM built_images i WHERE i.action_id = a.id)
		ORDER BY a.ended_at, a.id LIMIT $6`
	rows, err := b.pool.Query(ctx, query, task.Project, task.Domain, task.Name, project, domain, limit)
	if err != nil {
		return nil, fmt.Errorf("read builds: %w", err)
	}
	builds, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (UnreadBuild, error) {
		one := UnreadBuild{Run: ident.Run{Project: project, Domain: domain}}
		return one, row.Scan(&one.ActionID, &one.Run.Name, &one.InputURI, &one.OutputURI, &one.BuiltAt, &one.Spec)
	})
	if err != nil {
		return nil, fmt.Errorf("read builds: %w", err)
	}
	return builds, nil
}

// Remember stores what a run has built. Storing it twice changes nothing.
func (b *BuiltImages) Remember(ctx context.Context, image BuiltImage) error {
	const query = `INSERT INTO built_images (action_id, project, domain, name, reference, run_name, built_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`
	_, err := b.pool.Exec(ctx, query, image.ActionID, image.Run.Project, image.Run.Domain, image.Name, image.Reference, image.Run.Name, image.BuiltAt)
	if err != nil {
		return fmt.Errorf("remember image %s: %w", image.Name, err)
	}
	return nil
}
