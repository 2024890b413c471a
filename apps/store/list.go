package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

// Statuses are the names of app.Status.DeploymentStatus in lower case; the service sets them, since this package knows no
// messages of apps.
type Statuses map[string]int64

// appFields are the fields by which clients filter and sort apps.
func appFields(statuses Statuses) listquery.Schema {
	status := listquery.Field{Expr: "a.status", Type: listquery.Small, Names: statuses}
	return listquery.Schema{
		Fields: map[string]listquery.Field{
			"id":              {Expr: "a.id", Type: listquery.BigInt},
			"project":         {Expr: "a.project", Type: listquery.Text},
			"domain":          {Expr: "a.domain", Type: listquery.Text},
			"name":            {Expr: "a.name", Type: listquery.Text},
			"cluster":         {Expr: "a.cluster", Type: listquery.Text},
			"revision":        {Expr: "a.revision", Type: listquery.BigInt},
			"created_by":      {Expr: "a.created_by", Type: listquery.Text},
			"status_phase":    status,
			"status":          status,
			"desired_state":   {Expr: "a.desired_state", Type: listquery.Small},
			"created_at":      {Expr: "a.created_at", Type: listquery.Time},
			"updated_at":      {Expr: "a.updated_at", Type: listquery.Time},
			"last_started_at": {Expr: "a.started_at", Type: listquery.Time, Nullable: true},
		},
		Labels:  "a.labels",
		ID:      "id",
		Default: []listquery.Order{{Field: "created_at", Desc: true}},
		Prefix:  "request.",
	}
}

// List reads a page of apps and the token of the next page. With count it returns how many there are on all pages.
func (s *Store) List(ctx context.Context, scope Scope, statuses Statuses, request *common.ListRequest, count bool) (apps []*App, token string, total int64, err error) {
	var b listquery.Builder
	scope.restrict(ctx, &b)
	q, err := appFields(statuses).Compile(b, []string{"apps", fmt.Sprintf("%q", scope)}, request)
	if err != nil {
		return nil, "", 0, err
	}
	type listed struct {
		*App
		keys []string
	}
	rows, err := s.pool.Query(ctx, `SELECT `+appColumns+`, `+q.Keys()+` FROM apps a`+q.Tail(), q.Args()...)
	if err != nil {
		return nil, "", 0, fmt.Errorf("list apps: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (listed, error) {
		l := listed{App: &App{}}
		return l, row.Scan(append(l.targets(), &l.keys)...)
	})
	if err != nil {
		return nil, "", 0, fmt.Errorf("list apps: %w", err)
	}
	if count {
		all := q.Unpaged()
		if err := s.pool.QueryRow(ctx, `SELECT count(*) FROM apps a WHERE `+all.Conditions(), all.Args()...).Scan(&total); err != nil {
			return nil, "", 0, fmt.Errorf("count apps: %w", err)
		}
	}
	page, token := listquery.Page(q, found, func(l listed) []string { return l.keys })
	apps = make([]*App, len(page))
	for i, l := range page {
		apps[i] = l.App
	}
	return apps, token, total, nil
}

// Count is how many apps of a cluster have a status, an app.Status.DeploymentStatus.
type Count struct {
	Cluster string
	Status  int16
	Apps    int64
}

// Count counts apps by cluster and status.
func (s *Store) Count(ctx context.Context) ([]Count, error) {
	rows, err := s.pool.Query(ctx, `SELECT cluster, status, count(*) FROM apps GROUP BY cluster, status`)
	if err == nil {
		var counts []Count
		if counts, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Count]); err == nil {
			return counts, nil
		}
	}
	return nil, fmt.Errorf("count apps: %w", err)
}
