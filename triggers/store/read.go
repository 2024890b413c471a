package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Get reads a trigger. It returns NotFound for one that does not exist; one that was deleted only counts if deleted is set.
func (s *Store) Get(ctx context.Context, task Task, name string, deleted bool) (*Trigger, error) {
	t, err := s.one(ctx, `SELECT `+triggerColumns+` FROM triggers t WHERE t.project = $1 AND t.domain = $2 AND t.task_name = $3
		AND t.name = $4 AND ($5 OR t.deleted_at IS NULL)`, task.Project, task.Domain, task.Name, name, deleted)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, rpc.NotFound("trigger %s of task %s does not exist in %s/%s", name, task.Name, task.Project, task.Domain)
	}
	if err != nil {
		return nil, fmt.Errorf("read trigger: %w", err)
	}
	return t, nil
}

// ByID reads a trigger, deleted or not; nil when there is none.
func (s *Store) ByID(ctx context.Context, id int64) (*Trigger, error) {
	t, err := s.one(ctx, `SELECT `+triggerColumns+` FROM triggers t WHERE t.id = $1`, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // none is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("read trigger: %w", err)
	}
	return t, nil
}

func (s *Store) one(ctx context.Context, query string, args ...any) (*Trigger, error) {
	t := &Trigger{}
	return t, s.pool.QueryRow(ctx, query, args...).Scan(t.targets()...)
}

// Revision is a trigger as it was.
type Revision struct {
	Trigger
	Action    int16
	CreatedAt time.Time
	keys      []string
}

const revisionColumns = `r.revision, r.action, r.active, r.automation, r.spec, r.task_version, r.description, r.deployed_by,
	r.updated_by, r.deployed_at, r.updated_at, r.triggered_at, r.deleted_at, r.created_at`

func (r *Revision) revisionTargets() []any {
	return []any{
		&r.Revision, &r.Action, &r.Active, &r.Automation, &r.Spec, &r.TaskVersion, &r.Description, &r.DeployedBy,
		&r.UpdatedBy, &r.DeployedAt, &r.UpdatedAt, &r.TriggeredAt, &r.DeletedAt, &r.CreatedAt,
	}
}

// Revision reads one revision of a trigger.
func (s *Store) Revision(ctx context.Context, t *Trigger, revision int64) (*Revision, error) {
	r := &Revision{Trigger: *t}
	err := s.pool.QueryRow(ctx, `SELECT `+revisionColumns+` FROM trigger_revisions r WHERE r.trigger_id = $1 AND r.revision = $2`,
		t.ID, revision).Scan(r.revisionTargets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, rpc.NotFound("trigger %s of task %s has no revision %d", t.Name, t.Task.Name, revision)
	}
	if err != nil {
		return nil, fmt.Errorf("read a revision of a trigger: %w", err)
	}
	return r, nil
}

// revisionFields are the fields by which clients filter and sort revisions.
var revisionFields = listquery.Schema{
	Fields: map[string]listquery.Field{
		"revision":     {Expr: "r.revision", Type: listquery.BigInt},
		"action":       {Expr: "r.action", Type: listquery.Small},
		"active":       {Expr: "r.active", Type: listquery.Bool},
		"task_version": {Expr: "r.task_version", Type: listquery.Text},
		"created_at":   {Expr: "r.created_at", Type: listquery.Time},
		"deployed_at":  {Expr: "r.deployed_at", Type: listquery.Time},
		"updated_at":   {Expr: "r.updated_at", Type: listquery.Time},
	},
	ID:      "revision",
	Default: []listquery.Order{{Field: "revision", Desc: true}},
	Prefix:  "request.",
}

// Revisions reads a page of the revisions of a trigger, by default newest first, and the token of the next page.
func (s *Store) Revisions(ctx context.Context, t *Trigger, request *common.ListRequest) ([]Revision, string, error) {
	var b listquery.Builder
	b.Where("r.trigger_id = " + b.Arg(t.ID, "bigint"))
	q, err := revisionFields.Compile(b, []string{"revisions", fmt.Sprint(t.ID)}, request)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.pool.Query(ctx, `SELECT `+revisionColumns+`, `+q.Keys()+` FROM trigger_revisions r`+q.Tail(), q.Args()...)
	if err != nil {
		return nil, "", fmt.Errorf("list revisions: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Revision, error) {
		r := Revision{Trigger: *t}
		return r, row.Scan(append(r.revisionTargets(), &r.keys)...)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list revisions: %w", err)
	}
	page, token := listquery.Page(q, found, func(r Revision) []string { return r.keys })
	return page, token, nil
}
