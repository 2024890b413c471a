package queries

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// suggesting is how many of the newest runs are looked at for values.
const suggesting = 2000

var suggested = map[query.Key]string{
	query.Task: "a.task_name", query.Version: "a.task_version", query.Trigger: "a.trigger_name", query.Owner: "a.created_by_subject",
	query.Cluster: "a.cluster", query.Queue: "a.queue",
}

// Suggest returns values of a key that contain a text, among the newest runs of a place, the most frequent first. It returns
// none for a key whose values are not suggested.
func (r *Reader) Suggest(ctx context.Context, scope schema.Scope, key query.Key, part string, limit int) ([]string, error) {
	from := fmt.Sprintf(`(SELECT * FROM actions a WHERE a.parent_name IS NULL AND a.project = $1 AND a.domain = $2
		ORDER BY a.created_at DESC, a.id DESC LIMIT %d) a`, suggesting)
	value := suggested[key]
	switch {
	case key == query.Label:
		from, value = from+`, jsonb_each_text(a.labels) AS label(key, value)`, `label.key || '=' || label.value`
	case value == "":
		return nil, nil
	}
	rows, err := r.pool.Query(ctx, fmt.Sprintf(`SELECT %[1]s FROM %[2]s WHERE %[1]s <> '' AND %[1]s ILIKE $3 GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT $4`, value, from),
		scope.Project, scope.Domain, "%"+escapes.Replace(part)+"%", limit)
	if err != nil {
		return nil, fmt.Errorf("suggest values: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("suggest values: %w", err)
	}
	return found, nil
}
