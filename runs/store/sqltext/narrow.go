package sqltext

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// WithinScope is listquery.Narrow for statements on actions a that number their own parameters. It returns the text to append
// to the other conditions, and all parameters.
func WithinScope(ctx context.Context, args []any) (string, []any) {
	var before, b listquery.Builder
	for _, arg := range args {
		before.Arg(arg, "")
	}
	b.Continue(&before)
	listquery.Narrow(ctx, &b, "a.project", "a.domain")
	if b.Conditions() == "true" {
		return "", args
	}
	return " AND " + b.Conditions(), b.Args()
}

// RunPlaces are the distinct projects and domains within the limited scope of the call, which is not wide, that have runs. It skips from one
// domain of a project to the next in an index.
func RunPlaces(ctx context.Context, pool *pgxpool.Pool) ([]schema.Scope, error) {
	const query = `
		WITH RECURSIVE hop AS (
			SELECT allowed.project, first.domain FROM (SELECT DISTINCT unnest($1::text[])) AS allowed(project), LATERAL (
				SELECT a.domain FROM actions a WHERE a.parent_name IS NULL AND a.project = allowed.project
				ORDER BY a.project, a.domain LIMIT 1) first
			UNION ALL
			SELECT hop.project, next.domain FROM hop, LATERAL (
				SELECT a.domain FROM actions a WHERE a.parent_name IS NULL AND a.project = hop.project AND a.domain > hop.domain
				ORDER BY a.project, a.domain LIMIT 1) next
		)
		SELECT project, domain FROM hop ORDER BY project, domain`
	projects, _, _ := listquery.Places(ctx)
	if len(projects) == 0 {
		return nil, nil
	}
	found, err := runPlaces(ctx, pool, query, projects)
	if err != nil {
		return nil, err
	}
	places := found[:0]
	for _, place := range found {
		if listquery.Sees(ctx, place.Project, place.Domain) {
			places = append(places, place)
		}
	}
	return places, nil
}

// AllRunPlaces are the projects and domains that have runs. It skips from one to the next in an index, so that its cost depends on
// the number of places, not of runs.
func AllRunPlaces(ctx context.Context, pool *pgxpool.Pool) ([]schema.Scope, error) {
	const query = `
		WITH RECURSIVE scopes AS (
			(SELECT project, domain FROM actions WHERE parent_name IS NULL ORDER BY project, domain LIMIT 1)
			UNION ALL
			SELECT next.project, next.domain FROM scopes, LATERAL (
				SELECT a.project, a.domain FROM actions a
				WHERE a.parent_name IS NULL AND (a.project, a.domain) > (scopes.project, scopes.domain)
				ORDER BY a.project, a.domain LIMIT 1) next
		)
		SELECT project, domain FROM scopes`
	return runPlaces(ctx, pool, query)
}

func runPlaces(ctx context.Context, pool *pgxpool.Pool, query string, args ...any) ([]schema.Scope, error) {
	rows, err := pool.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("find places with runs: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[schema.Scope])
	if err != nil {
		return nil, fmt.Errorf("find places with runs: %w", err)
	}
	return found, nil
}

// EachPlace is a source of rows of actions a: the first rows of each place, as many as the list wants, in list order,
// which must be that of an index. conditions are those of the list.
func EachPlace(b *listquery.Builder, places []schema.Scope, conditions, order string, limit int) string {
	var projects, domains []string
	for _, place := range places {
		projects, domains = append(projects, place.Project), append(domains, place.Domain)
	}
	return fmt.Sprintf(`(SELECT a.* FROM unnest(%s, %s) AS place(project, domain), LATERAL (
		SELECT * FROM actions a WHERE a.project = place.project AND a.domain = place.domain AND %s ORDER BY %s LIMIT %d) a)`,
		b.Arg(projects, "text[]"), b.Arg(domains, "text[]"), conditions, order, limit)
}
