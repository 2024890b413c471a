package lists

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// byDuration is the field of an order for which runs that have ended and those that have not are read apart.
const byDuration = "duration_ms"

// Looked is how many runs a page looks at if no index narrows what its filters leave. In the order of durations it looks at a fifth: two
// runs of about the same duration are seldom in the same page of the table.
const (
	Looked       = 15_000
	durationPart = 5
)

// bounded reports whether an index has the runs of a list in its order, but none has what its filters leave.
func bounded(q *listquery.Query, scope RunScope, filters []*common.Filter) bool {
	order := q.Order()
	first, rest := order[0], order[1:]
	if then := RunFields.Fields[first.Field].Then; then != "" && len(rest) > 1 && rest[0] == (listquery.Order{Field: then, Desc: first.Desc}) {
		rest = rest[1:]
	}
	if len(rest) != 1 || rest[0] != (listquery.Order{Field: RunFields.ID, Desc: first.Desc}) {
		return false
	}
	others := 0
	switch {
	case first.Field == createdAt || first.Field == updatedAt:
	case scope.Project == "" || scope.Domain == "":
		return false
	case first.Field == byDuration:
		others++ // without filters, too: the planner does not see that two parts have the order
	case first.Field != "name" && RunFields.Fields[first.Field].Then == "":
		return false
	}
	for _, filter := range filters {
		if indexed(filter) {
			return false
		}
		if filter.GetField() != first.Field {
			others++
		}
	}
	return others > 0
}

// indexedFields are the columns of roots that begin an index, or that follow project and domain in one.
var indexedFields = []string{
	"id", "name", "run_name", "phase", "task_name", "task_version", "created_by", "created_by_subject", clusterField, "trigger_name", "related_to",
}

// indexed reports whether an index has the runs that meet a filter.
func indexed(filter *common.Filter) bool {
	switch filter.GetFunction() {
	case common.Filter_EQUAL, common.Filter_VALUE_IN:
		return slices.Contains(indexedFields, filter.GetField()) || strings.HasPrefix(filter.GetField(), "labels.")
	case common.Filter_EXISTS:
		return strings.HasPrefix(filter.GetField(), "labels.")
	default:
		return false
	}
}

// selectBounded reads a page that looks at the next runs in the order of the list, up to Looked. If they do not fill it, the page is short, and
// its token continues after the last of them: clients read until there is no token. Without that bound, a filter that few runs meet would
// make one call read all runs of the place, for seconds where there are millions.
func (r *Reader) selectBounded(ctx context.Context, q *listquery.Query, scope RunScope, filters []*common.Filter) (rows []Listed, token string, err error) {
	looked, err := scope.looked(q, filters)
	if err != nil {
		return nil, "", err
	}
	limit := r.looked
	source := fmt.Sprintf("(SELECT * FROM actions a WHERE %s ORDER BY %s LIMIT %d)", looked, q.OrderBy(), limit)
	if q.Order()[0].Field == byDuration {
		if limit = max(1, r.looked/durationPart); len(filters) == 0 {
			limit = q.Limit + 1
		}
		source = sqltext.ByDuration(looked, "*", q.OrderBy(), limit)
	}
	err = sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		if err := sqltext.InOrder(ctx, tx); err != nil {
			return err
		}
		rows, token, err = selectRuns(ctx, tx, q, source)
		if err != nil || token != "" {
			return err
		}
		// The statement has the parameters of the filters, and must use them all.
		last := `SELECT ` + q.Keys() + ` FROM ` + source + ` a WHERE (true OR ` + q.Conditions() + `) ORDER BY ` + q.OrderBy() +
			` OFFSET ` + strconv.Itoa(limit-1) + ` LIMIT 1`
		found, err := tx.Query(ctx, last, sqltext.WithPlan(q.Args())...)
		if err != nil {
			return err
		}
		keys, err := pgx.CollectRows(found, pgx.RowTo[[]string])
		if len(keys) > 0 {
			token = q.Token(keys[0])
		}
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
	return rows, token, nil
}

// looked are the conditions of the runs that a page looks at: the scope, where the page begins, and bounds of the order. Their parameters
// are those of q.
func (s RunScope) looked(q *listquery.Query, filters []*common.Filter) (string, error) {
	b, _ := s.conditionsAfter(&q.Builder)
	if q.After() != "" {
		b.Where(q.After())
	}
	first := q.Order()[0].Field
	if first == createdAt || first == updatedAt {
		own := slices.DeleteFunc(slices.Clone(filters), func(filter *common.Filter) bool { return filter.GetField() != first })
		if err := RunFields.Filter(b, own); err != nil {
			return "", err
		}
		implied, err := impliedTimes(filters)
		if err != nil {
			return "", err
		}
		for _, one := range implied {
			if one.field == first {
				one.where(b)
			}
		}
	}
	q.TakeArgs(b)
	return b.Conditions(), nil
}
