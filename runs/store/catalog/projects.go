package catalog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Project is a row of the projects table.
type Project struct {
	ID          string
	Name        string
	Description string
	Labels      map[string]string
	State       int16 // project.ProjectState
}

// Projects stores projects.
type Projects struct{ pool *pgxpool.Pool }

// NewProjects returns a store on a pool that the caller owns.
func NewProjects(pool *pgxpool.Pool) *Projects { return &Projects{pool: pool} }

// projectFields are the fields by which clients filter and sort projects.
var projectFields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":          {Expr: "p.id", Type: listquery.Text},
		"identifier":  {Expr: "p.id", Type: listquery.Text},
		"name":        {Expr: "p.name", Type: listquery.Text},
		"description": {Expr: "p.description", Type: listquery.Text},
		"state": {
			Expr: "p.state", Type: listquery.Small,
			Names: listquery.EnumNames(project.ProjectState_value, "PROJECT_STATE_"),
		},
		"created_at": {Expr: "p.created_at", Type: listquery.Time},
		"updated_at": {Expr: "p.updated_at", Type: listquery.Time},
	},
	Labels:  "p.labels",
	ID:      "id",
	Default: []listquery.Order{{Field: "created_at"}},
	// Projects are few, and clients that set no limit have always received all of them.
	DefaultLimit: 10_000,
	MaxLimit:     10_000,
}

// Create stores a new project. It returns AlreadyExists when the id is taken.
func (s *Projects) Create(ctx context.Context, p Project, now time.Time) error {
	return pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		inserted, err := insertProject(ctx, tx, p, now)
		if err == nil && !inserted {
			return rpc.AlreadyExists("project %s already exists", p.ID)
		}
		return err
	})
}

// Seed stores those of the projects that do not exist yet.
func (s *Projects) Seed(ctx context.Context, ids []string, now time.Time) error {
	for _, id := range ids {
		if _, err := insertProject(ctx, s.pool, Project{ID: id, Name: id}, now); err != nil {
			return err
		}
	}
	return nil
}

// executor runs a statement; a pool and a transaction do.
type executor interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func insertProject(ctx context.Context, db executor, p Project, now time.Time) (bool, error) {
	tag, err := db.Exec(ctx, `
		INSERT INTO projects (id, name, description, labels, state, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $6) ON CONFLICT DO NOTHING`,
		p.ID, p.Name, p.Description, noNil(p.Labels), p.State, now)
	if err != nil {
		return false, fmt.Errorf("store project %s: %w", p.ID, err)
	}
	return tag.RowsAffected() == 1, nil
}

// Update replaces everything but the id. It returns NotFound when the project does not exist.
func (s *Projects) Update(ctx context.Context, p Project, now time.Time) error {
	return pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE projects SET name = $2, description = $3, labels = $4, state = $5, updated_at = $6 WHERE id = $1`,
			p.ID, p.Name, p.Description, noNil(p.Labels), p.State, now)
		if err != nil {
			return fmt.Errorf("update project %s: %w", p.ID, err)
		}
		if tag.RowsAffected() == 0 {
			return rpc.NotFound("project %s does not exist", p.ID)
		}
		return nil
	})
}

// Get reads a project in any state. It returns NotFound when the project does not exist.
func (s *Projects) Get(ctx context.Context, id string) (Project, error) {
	var p Project
	err := s.pool.QueryRow(ctx, `SELECT id, name, description, labels, state FROM projects WHERE id = $1`, id).
		Scan(&p.ID, &p.Name, &p.Description, &p.Labels, &p.State)
	if errors.Is(err, pgx.ErrNoRows) {
		return Project{}, rpc.NotFound("project %s does not exist", id)
	}
	if err != nil {
		return Project{}, fmt.Errorf("read project %s: %w", id, err)
	}
	return p, nil
}

// List reads a page of projects, by default oldest first, and the token of the next page. filters is the text form of
// filters; without it, archived projects are hidden.
func (s *Projects) List(ctx context.Context, filters string, request *common.ListRequest) ([]Project, string, error) {
	parsed, err := listquery.ParseExpression("filters", filters)
	if err != nil {
		return nil, "", err
	}
	var b listquery.Builder
	if len(parsed) == 0 {
		b.Where(fmt.Sprintf("p.state <> %d", project.ProjectState_PROJECT_STATE_ARCHIVED))
	}
	listquery.Narrow(ctx, &b, "p.id", "")
	request.Filters = parsed
	q, err := projectFields.Compile(b, []string{"projects"}, request)
	if err != nil {
		return nil, "", err
	}
	sql := `SELECT p.id, p.name, p.description, p.labels, p.state, ` + q.Keys() + ` FROM projects p` + q.Tail()
	rows, err := s.pool.Query(ctx, sql, append([]any{sqltext.Planned}, q.Args()...)...)
	if err != nil {
		return nil, "", fmt.Errorf("list projects: %w", err)
	}
	type listed struct {
		Project
		keys []string
	}
	items, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (listed, error) {
		var p listed
		return p, row.Scan(&p.ID, &p.Name, &p.Description, &p.Labels, &p.State, &p.keys)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list projects: %w", err)
	}
	items, token := listquery.Page(q, items, func(p listed) []string { return p.keys })
	out := make([]Project, 0, len(items))
	for _, item := range items {
		out = append(out, item.Project)
	}
	return out, token, nil
}

func noNil(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}
