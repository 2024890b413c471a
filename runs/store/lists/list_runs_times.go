package lists

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

const (
	// The fields of an order that lists have across all projects, too.
	createdAt, updatedAt = "created_at", "updated_at"
	// allActions is the usual source of lists.
	allActions = "actions"
	// fewRuns is the number of runs that are cheaper to fetch and sort than to find in the order of the list.
	fewRuns = 15_000
	// clockSlack is the largest assumed difference between the clocks of two servers.
	clockSlack = 10 * time.Minute
)

// impliedTime is what a filter on a time implies for the last update or the creation, which have indexes.
type impliedTime struct {
	field, operator string
	bound           time.Time
}

// impliedTimes are what filters on times imply: a run is not updated before it starts or ends, nor created after. The planner does
// not know that, and would look at all of history.
func impliedTimes(filters []*common.Filter) (implied []impliedTime, err error) {
	for _, filter := range filters {
		field := filter.GetField()
		if field != updatedAt && field != "started_at" && field != "ended_at" || len(filter.GetValues()) != 1 {
			continue
		}
		lower, upper := comparison(filter)
		if !upper && (!lower || field == updatedAt) {
			continue
		}
		bound, err := listquery.ParseTime(filter.GetValues()[0])
		if err != nil {
			return nil, err // Compile has validated it
		}
		if upper {
			implied = append(implied, impliedTime{field: createdAt, operator: "<", bound: bound.Add(clockSlack)})
		} else {
			implied = append(implied, impliedTime{field: updatedAt, operator: ">", bound: bound.Add(-clockSlack)})
		}
	}
	return implied, nil
}

func (i impliedTime) where(b *listquery.Builder) {
	b.Where("a." + i.field + " " + i.operator + " " + b.Arg(i.bound, "timestamptz"))
}

// comparison says whether a filter is a lower or an upper bound.
func comparison(filter *common.Filter) (lower, upper bool) {
	switch filter.GetFunction() {
	case common.Filter_GREATER_THAN, common.Filter_GREATER_THAN_OR_EQUAL:
		return true, false
	case common.Filter_LESS_THAN, common.Filter_LESS_THAN_OR_EQUAL:
		return false, true
	default:
		return false, false
	}
}

// fewSource is the source of a list by creation with bounds of the last update, the start or the end, or of a list by update with bounds
// of the creation, if the rows that its order has first are outside of them. The planner assumes that the columns are independent, and
// may scan all of history. A few rows within the bounds are fetched first and sorted; otherwise the source is all actions. anyway is for a
// list that has no other index: also if the first rows of its order are within the bounds.
func (r *Reader) fewSource(ctx context.Context, scope RunScope, q *listquery.Query, request *common.ListRequest, anyway bool) (string, error) {
	if scope.Project == "" && !anyway {
		return allActions, nil
	}
	bounds, leavesOut, err := otherBounds(q.Order()[0], request.GetFilters())
	if err != nil || len(bounds) == 0 || !leavesOut && !anyway {
		return allActions, err
	}
	probe, _ := RunScope{Project: scope.Project, Domain: scope.Domain}.conditions()
	if err := RunFields.Filter(probe, bounds); err != nil {
		return allActions, err
	}
	var count int
	sql := fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM actions a WHERE %s LIMIT %d) few`, probe.Conditions(), fewRuns+1)
	if err := r.pool.QueryRow(ctx, sql, sqltext.WithPlan(probe.Args())...).Scan(&count); err != nil {
		return allActions, fmt.Errorf("count runs within times: %w", err)
	}
	if count > fewRuns {
		return allActions, nil
	}
	// Repeats the conditions with the statement's own parameters. OFFSET keeps the planner from inlining the
	// subquery.
	hits, _ := RunScope{Project: scope.Project, Domain: scope.Domain}.conditionsAfter(&q.Builder)
	if err := RunFields.Filter(hits, bounds); err != nil {
		return allActions, err
	}
	q.TakeArgs(hits)
	return "(SELECT * FROM actions a WHERE " + hits.Conditions() + " OFFSET 0)", nil
}

// otherBounds are filters on the one of creation and last update that is not the order, and whether they leave out what the order has first.
func otherBounds(order listquery.Order, filters []*common.Filter) (bounds []*common.Filter, leavesOut bool, err error) {
	field := map[string]string{createdAt: updatedAt, updatedAt: createdAt}[order.Field]
	if field == "" {
		return nil, false, nil
	}
	for _, filter := range filters {
		if lower, upper := comparison(filter); filter.GetField() == field {
			leavesOut = leavesOut || lower && !order.Desc || upper && order.Desc
			bounds = append(bounds, filter)
		}
	}
	implied, err := impliedTimes(filters)
	if err != nil {
		return nil, false, err
	}
	for _, one := range implied {
		if one.field != field {
			continue
		}
		function := common.Filter_LESS_THAN
		if one.operator == ">" {
			function = common.Filter_GREATER_THAN
		}
		leavesOut = leavesOut || (function == common.Filter_LESS_THAN) == order.Desc
		bounds = append(bounds, &common.Filter{Function: function, Field: field, Values: []string{one.bound.Format(time.RFC3339Nano)}})
	}
	return bounds, leavesOut, nil
}
