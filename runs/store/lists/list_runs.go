package lists

import (
	"context"
	"strings"
	"unicode"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// RunScope says which runs are listed. Empty fields do not restrict.
type RunScope struct {
	Project, Domain string
	// TaskName and TaskVersion restrict to runs of one task.
	TaskName, TaskVersion string
	// TriggerName and TriggerTaskName restrict to runs started by one trigger.
	TriggerName, TriggerTaskName string
	// PausedOnly restricts to runs that have an action in phase PAUSED.
	PausedOnly bool
}

func (s RunScope) columns() [][2]string {
	return [][2]string{
		{"project", s.Project}, {"domain", s.Domain},
		{"task_name", s.TaskName}, {"task_version", s.TaskVersion},
		{"trigger_name", s.TriggerName}, {"trigger_task_name", s.TriggerTaskName},
	}
}

// ListRuns reads a page of the runs that the caller may see, by default newest first, and the token of the next page. A page may have
// fewer runs than its limit, or none, and a token all the same: selectBounded says when.
func (r *Reader) ListRuns(ctx context.Context, scope RunScope, request *common.ListRequest) ([]Listed, string, error) {
	b, tokenScope := scope.conditions()
	if rows, token, done, err := r.readWithin(ctx, scope, request); err != nil || done {
		return rows, token, err
	}
	places, err := r.places(ctx, &scope)
	if err != nil {
		return nil, "", err
	}
	if places != nil {
		b, _ = scope.conditions() // a single place is treated like a requested one
	}
	if listquery.Everywhere(ctx) {
		listquery.Narrow(ctx, b, "a.project", "a.domain")
	}
	q, err := RunFields.Compile(*b, tokenScope, request)
	if err != nil {
		return nil, "", err
	}
	nameCluster(q, request.GetFilters())
	implied, err := impliedTimes(request.GetFilters())
	if err != nil {
		return nil, "", err
	}
	for _, one := range implied {
		one.where(&q.Builder)
	}
	if places != nil && len(places) == 0 {
		return nil, "", nil
	}
	if len(places) <= 1 && walkFirst(request.GetFilters()) {
		walking := *q // with parameters of its own
		rows, token, err := selectRuns(ctx, r.pool, &walking, scope.walk(&walking))
		if err != nil || token != "" {
			return rows, token, err
		}
	}
	if len(places) > 1 {
		scope = RunScope{} // no single place whose runs could be fetched first
	}
	bound := len(places) <= 1 && bounded(q, scope, request.GetFilters())
	source, err := r.fewSource(ctx, scope, q, request, bound)
	if err != nil {
		return nil, "", err
	}
	if source == allActions && bound {
		return r.selectBounded(ctx, q, scope, request.GetFilters())
	}
	if len(places) > 1 {
		source = sqltext.FirstOfPlaces(&q.Builder, places, sqltext.Listing{
			Conditions: q.Conditions(), Order: q.OrderBy(), Columns: orderColumns(q), Limit: q.Limit + 1,
		})
	}
	return selectRuns(ctx, r.pool, q, source)
}

// orderColumns are the columns of actions by which a list is ordered; nil if it is by more than columns.
func orderColumns(q *listquery.Query) (columns []string) {
	for _, key := range q.Order() {
		column, prefixed := strings.CutPrefix(RunFields.Fields[key.Field].Expr, "a.")
		if !prefixed || strings.ContainsFunc(column, func(r rune) bool { return r != '_' && !unicode.IsLower(r) }) {
			return nil
		}
		columns = append(columns, column)
	}
	return columns
}

// manyWalked is from how many places on a list first reads the next runs of all places. It usually finds a full page in
// a hundredth of the time that a look at each place takes; if not, it costs a tenth of that.
const manyWalked = 100

// readWithin reads the runs of a list across many places without a look at each of them. In an order that has an index over all
// places it reads the next runs of all of them and drops those outside of the scope of the call: a full page is usually found much
// sooner than by a look at each place. In another order it reads the order of all runs that the caller may see. If it has not
// found what the list has, done is false.
func (r *Reader) readWithin(ctx context.Context, scope RunScope, request *common.ListRequest) (rows []Listed, token string, done bool, err error) {
	if allowed, _, limited := listquery.Places(ctx); !limited || len(allowed) < manyWalked || listquery.Everywhere(ctx) || scope.Project != "" {
		return nil, "", false, nil
	}
	b, tokenScope := scope.conditions()
	q, err := RunFields.Compile(*b, tokenScope, request)
	if err != nil {
		return nil, "", false, err
	}
	implied, err := impliedTimes(request.GetFilters())
	if err != nil {
		return nil, "", false, err
	}
	for _, one := range implied {
		one.where(&q.Builder)
	}
	if first := q.Order()[0].Field; first == createdAt || first == updatedAt {
		q.Where(sqltext.WithinPlaces(ctx, &q.Builder))
		rows, token, err = selectRuns(ctx, r.pool, q, RunScope{}.walk(q))
		return rows, token, token != "", err
	}
	if len(request.GetFilters()) > 0 || scope != (RunScope{}) {
		return nil, "", false, nil // an index of a filter may read less
	}
	listing := sqltext.Listing{Conditions: q.Conditions(), Order: q.OrderBy(), Limit: q.Limit + 1}
	rows, token, err = selectRuns(ctx, r.pool, q, sqltext.FirstWithin(ctx, &q.Builder, listing))
	return rows, token, true, err
}

// places are the projects and domains whose runs a list across all projects may show when the scope of the call is
// limited; nil means all, or that they cannot be enumerated. A single place becomes the place of the list.
func (r *Reader) places(ctx context.Context, scope *RunScope) ([]schema.Scope, error) {
	if _, _, limited := listquery.Places(ctx); !limited || listquery.Everywhere(ctx) {
		return nil, nil
	}
	if scope.Project != "" && scope.Domain != "" {
		if listquery.Sees(ctx, scope.Project, scope.Domain) {
			return nil, nil
		}
		return []schema.Scope{}, nil
	}
	found, err := sqltext.RunPlaces(ctx, r.pool)
	if err != nil {
		return nil, err
	}
	places := make([]schema.Scope, 0, len(found))
	for _, place := range found {
		if (scope.Project == "" || scope.Project == place.Project) && (scope.Domain == "" || scope.Domain == place.Domain) {
			places = append(places, place)
		}
	}
	if len(places) == 1 {
		scope.Project, scope.Domain = places[0].Project, places[0].Domain
	}
	return places, nil
}

func selectRuns(ctx context.Context, from querier, q *listquery.Query, source string) ([]Listed, string, error) {
	sql := `SELECT ` + ListedColumns + `, a.labels, ` + q.Keys() + ` FROM ` + source + ` a` + q.Tail()
	return listed(ctx, from, q, sql, func(l *Listed) any { return &l.Labels })
}

func (s RunScope) conditions() (*listquery.Builder, []string) {
	return s.conditionsAfter(&listquery.Builder{})
}

// conditionsAfter numbers its parameters after those of another builder.
func (s RunScope) conditionsAfter(other *listquery.Builder) (*listquery.Builder, []string) {
	b := &listquery.Builder{}
	b.Continue(other)
	names := []string{"runs"}
	b.Where("a.parent_name IS NULL")
	for _, column := range s.columns() {
		if column[1] != "" {
			b.Equal("a."+column[0], column[1])
		}
		names = append(names, column[1])
	}
	if s.PausedOnly {
		b.Where("a.paused_count > 0")
		names = append(names, "paused")
	}
	return b, names
}
