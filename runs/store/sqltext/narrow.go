package sqltext

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// manyHashed is from how many places on Postgres would not keep the result of a subquery in a hash table.
const manyHashed = 50_000

// WithinPlaces is the condition that rows of actions a are within the limited scope of the call, in the form for a filter of
// rows that are read in another order: a look into a hash table for each. It is for scopes of many places; Narrow is for
// statements that may read each place by an index. The places are in subqueries, since the planner looks at each element of a
// constant array: for 10,000 of them it takes longer than the statement. OR keeps the subqueries from becoming joins, which
// would not keep the order of the rows.
func WithinPlaces(ctx context.Context, b *listquery.Builder) string {
	whole, parts := separated(ctx)
	if len(whole)+len(parts) >= manyHashed {
		pairs := Column(parts, func(p schema.Scope) string { return p.Project + "/" + p.Domain }) // neither has a slash
		return "(a.project = ANY(" + b.Arg(whole, "text[]") + ") OR a.project || '/' || a.domain = ANY(" + b.Arg(pairs, "text[]") + "))"
	}
	return fmt.Sprintf("(a.project IN (SELECT unnest(%s)) OR (a.project, a.domain) IN (SELECT * FROM %s part))",
		b.Arg(whole, "text[]"), unnested(b, parts))
}

// separated are the projects of the scope of the call of which the caller may see every domain, and the other places.
func separated(ctx context.Context) (whole []string, parts []schema.Scope) {
	projects, domains, _ := listquery.Places(ctx)
	for i, project := range projects {
		if domains[i] == "" {
			whole = append(whole, project)
		} else {
			parts = append(parts, schema.Scope{Project: project, Domain: domains[i]})
		}
	}
	return whole, parts
}

// FirstWithin is a source of rows of actions a that has the first rows within the limited scope of the call, in an order that
// no index has over all places. It reads what the order needs of each row that the caller may see, in one pass over an index
// that begins with the project, then the few rows that are the first. For many places it costs less than a look at each, even
// if that finds the rows in their order.
func FirstWithin(ctx context.Context, b *listquery.Builder, list Listing) string {
	whole, parts := separated(ctx)
	projects := slices.Concat(whole, Column(parts, func(p schema.Scope) string { return p.Project }))
	// A subquery, so that the planner does not look at each project.
	within := "a.project = ANY ((SELECT " + b.Arg(projects, "text[]") + ")::text[])"
	if len(parts) > 0 {
		within += " AND " + WithinPlaces(ctx, b)
	}
	return fmt.Sprintf(`(SELECT a.* FROM (SELECT a.id FROM actions a WHERE %s AND %s ORDER BY %s LIMIT %d) best JOIN actions a ON a.id = best.id)`,
		list.Conditions, within, list.Order, list.Limit)
}

// RunPlaces are the distinct projects and domains within the limited scope of the call, which has no domain of every project.
// Of projects of which the caller may see every domain, they are the domains that have runs: it skips from one to the next in
// an index.
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
	projects, domains, _ := listquery.Places(ctx)
	whole := map[string]bool{}
	for i, project := range projects {
		if domains[i] == "" {
			whole[project] = true
		}
	}
	var places []schema.Scope
	if len(whole) > 0 {
		found, err := runPlaces(ctx, pool, query, slices.Collect(maps.Keys(whole)))
		if err != nil {
			return nil, err
		}
		places = found
	}
	seen := map[schema.Scope]bool{}
	for i, project := range projects {
		if place := (schema.Scope{Project: project, Domain: domains[i]}); !whole[project] && !seen[place] {
			seen[place] = true
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

// EachPlace is a source of rows of actions a: the first rows of each place in list order, which must be that of an index.
// conditions are those of the list.
func EachPlace(b *listquery.Builder, places []schema.Scope, conditions, order string, limit int) string {
	return "(" + ofEach(unnested(b, places), "*", conditions, order, limit) + ")"
}

// Listing is a list of rows of actions a: the first of them in an order, under conditions.
type Listing struct {
	Conditions, Order string
	// Columns are those of the order, without a prefix. Empty means that the order is not of columns alone.
	Columns []string
	Limit   int
}

// FirstOfPlaces is a source of rows of actions a that has the first rows of all places together, and reads little more than
// those: a few of each place, and more only of the places whose few are all among the first. Of an order by columns it reads
// only these and the ids, which are in the index, before it knows which rows they are. The order must be that of an index in
// each place.
func FirstOfPlaces(b *listquery.Builder, places []schema.Scope, list Listing) string {
	few := max(2, 2*list.Limit/len(places))
	if few >= list.Limit/2 {
		return EachPlace(b, places, list.Conditions, list.Order, list.Limit)
	}
	columns, rows := "*", "best"
	if len(list.Columns) > 0 {
		columns = strings.Join(distinct([]string{"id", "project", "domain"}, list.Columns), ", ")
		rows = "(SELECT a.* FROM best JOIN actions a ON a.id = best.id)"
	}
	return fmt.Sprintf(`(WITH heads AS MATERIALIZED (%[1]s),
		first AS MATERIALIZED (SELECT a.* FROM heads a ORDER BY %[3]s LIMIT %[4]d),
		deep AS MATERIALIZED (SELECT a.project, a.domain FROM first a GROUP BY a.project, a.domain HAVING count(*) = %[5]d),
		best AS MATERIALIZED (SELECT a.* FROM (
			SELECT a.* FROM first a WHERE (a.project, a.domain) NOT IN (SELECT project, domain FROM deep) UNION ALL %[2]s) a
			ORDER BY %[3]s LIMIT %[4]d)
		SELECT a.* FROM %[6]s a)`,
		ofEach(unnested(b, places), columns, list.Conditions, list.Order, few), ofEach("deep", columns, list.Conditions, list.Order, list.Limit),
		list.Order, list.Limit, few, rows)
}

// distinct are columns, and more of them unless they are among the first.
func distinct(fixed, more []string) []string {
	columns := fixed
	for _, column := range more {
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
	}
	return columns
}

func unnested(b *listquery.Builder, places []schema.Scope) string {
	projects := Column(places, func(p schema.Scope) string { return p.Project })
	domains := Column(places, func(p schema.Scope) string { return p.Domain })
	return fmt.Sprintf("unnest(%s, %s)", b.Arg(projects, "text[]"), b.Arg(domains, "text[]"))
}

func ofEach(places, columns, conditions, order string, limit int) string {
	return fmt.Sprintf(`SELECT a.* FROM %s AS place(project, domain), LATERAL (
		SELECT %s FROM actions a WHERE a.project = place.project AND a.domain = place.domain AND %s ORDER BY %s LIMIT %d) a`,
		places, columns, conditions, order, limit)
}

// ByDuration is a source of the first rows of roots a in an order by duration. An index has those that have ended in that order; those that
// have not are sorted, and count as the longest.
func ByDuration(conditions, columns, order string, limit int) string {
	part := func(ended string) string {
		return fmt.Sprintf("(SELECT %s FROM actions a WHERE %s AND a.ended_at %s ORDER BY %s LIMIT %d)", columns, conditions, ended, order, limit)
	}
	return fmt.Sprintf("(SELECT a.* FROM (%s UNION ALL %s) a ORDER BY %s LIMIT %d)", part("IS NOT NULL"), part("IS NULL"), order, limit)
}
