package store

import (
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/runs/list"
)

// walkLength is how many runs are looked through, in the order of the list, before the planner decides.
const walkLength = 2000

// walkFirst tells whether a filter is one that many runs may match and whose frequency the planner underestimates, as
// only roots have labels. For such filters it would fetch and sort all matches; a full page is mostly found much
// sooner in the order of the list.
func walkFirst(filters []*common.Filter) bool {
	for _, filter := range filters {
		if strings.HasPrefix(filter.GetField(), "labels.") || filter.GetFunction() == common.Filter_VALUE_IN && len(filter.GetValues()) > 1 {
			return true
		}
	}
	return false
}

// walk is a source with the next runs of the scope, whatever the filters. A full page of it is the page of the list.
func (s RunScope) walk(q *list.Query) string {
	b, _ := s.conditionsAfter(&q.Builder)
	q.TakeArgs(b)
	if q.After() != "" {
		b.Where(q.After())
	}
	return fmt.Sprintf("(SELECT * FROM actions a WHERE %s ORDER BY %s LIMIT %d)", b.Conditions(), q.OrderBy(), walkLength)
}
