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
	// allActions is the usual source of lists.
	allActions = "actions"
	// fewUpdated is the number of runs that are cheaper to fetch and sort than to find in creation order.
	fewUpdated = 15_000
	// clockSlack is the largest assumed difference between the clocks of two servers.
	clockSlack = 10 * time.Minute
)

// impliedTimes adds what filters on times imply for the last update and the creation, which have indexes: a run is not updated
// before it starts or ends, nor created after. The planner does not know that, and would look at all of history.
func impliedTimes(q *listquery.Query, filters []*common.Filter) error {
	for _, filter := range filters {
		field := filter.GetField()
		if field != "updated_at" && field != "started_at" && field != "ended_at" || len(filter.GetValues()) != 1 {
			continue
		}
		lower, upper := comparison(filter)
		if !upper && (!lower || field == "updated_at") {
			continue
		}
		bound, err := listquery.ParseTime(filter.GetValues()[0])
		if err != nil {
			return err // Compile has validated it
		}
		if upper {
			q.Where("a.created_at < " + q.Arg(bound.Add(clockSlack), "timestamptz"))
		} else {
			q.Where("a.updated_at > " + q.Arg(bound.Add(-clockSlack), "timestamptz"))
		}
	}
	return nil
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

// updatedSource optimizes lower bounds of the last update, of the start and of the end in a list by creation. The planner assumes
// that the columns are independent and scans all of history. A few matches are fetched first and sorted. It returns the source to
// select from.
func (r *Reader) updatedSource(ctx context.Context, scope RunScope, q *listquery.Query, request *common.ListRequest) (string, error) {
	first := q.Order()[0]
	if first.Field != "created_at" {
		return allActions, nil
	}
	var updated []*common.Filter
	var lower bool
	for _, filter := range request.GetFilters() {
		bounds, _ := comparison(filter)
		switch filter.GetField() {
		case "updated_at":
			lower = lower || bounds
			updated = append(updated, filter)
		case "started_at", "ended_at":
			if !bounds {
				continue
			}
			bound, err := listquery.ParseTime(filter.GetValues()[0])
			if err != nil {
				return allActions, err // Compile has validated it
			}
			lower = true
			updated = append(updated, &common.Filter{
				Function: common.Filter_GREATER_THAN, Field: "updated_at", Values: []string{bound.Add(-clockSlack).Format(time.RFC3339Nano)},
			})
		}
	}
	if !lower || first.Desc || scope.Project == "" {
		return allActions, nil
	}
	probe, _ := RunScope{Project: scope.Project, Domain: scope.Domain}.conditions()
	if err := RunFields.Filter(probe, updated); err != nil {
		return allActions, err
	}
	var count int
	sql := fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM actions a WHERE %s LIMIT %d) few`, probe.Conditions(), fewUpdated+1)
	if err := r.pool.QueryRow(ctx, sql, append([]any{sqltext.Planned}, probe.Args()...)...).Scan(&count); err != nil {
		return allActions, fmt.Errorf("count updated runs: %w", err)
	}
	if count > fewUpdated {
		return allActions, nil
	}
	// Repeats the conditions with the statement's own parameters. OFFSET keeps the planner from inlining the
	// subquery.
	hits, _ := RunScope{Project: scope.Project, Domain: scope.Domain}.conditionsAfter(&q.Builder)
	if err := RunFields.Filter(hits, updated); err != nil {
		return allActions, err
	}
	q.TakeArgs(hits)
	return "(SELECT * FROM actions a WHERE " + hits.Conditions() + " OFFSET 0)", nil
}
