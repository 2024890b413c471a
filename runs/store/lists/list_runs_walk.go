package lists

import (
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

// walkLength is how many runs are checked, in list order, before the planner decides.
const walkLength = 2000

// walkFirst reports whether a filter may match many runs but the planner underestimates its frequency, because only
// roots have labels. For such filters the planner would fetch and sort all matches; a full page is usually found much
// sooner in list order.
func walkFirst(filters []*common.Filter) bool {
	for _, filter := range filters {
		if strings.HasPrefix(filter.GetField(), "labels.") || filter.GetFunction() == common.Filter_VALUE_IN && len(filter.GetValues()) > 1 {
			return true
		}
	}
	return false
}

// walk is a source with the next runs of the scope, before filters. If it yields a full page, that is the page of the
// list.
func (s RunScope) walk(q *listquery.Query) string {
	b, _ := s.conditionsAfter(&q.Builder)
	q.TakeArgs(b)
	if q.After() != "" {
		b.Where(q.After())
	}
	return fmt.Sprintf("(SELECT * FROM actions a WHERE %s ORDER BY %s LIMIT %d)", b.Conditions(), q.OrderBy(), walkLength)
}
