package worklists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// MaxAhead is how far Ahead counts.
const MaxAhead = 10_000

// Standing is where a queued action stands. The numbers of actions go up to MaxAhead.
type Standing struct {
	// Ahead counts the queued actions of its queue that come first: those of higher priority, and the older ones of equal
	// priority that the same person has in its project.
	Ahead int
	// Shared counts the queued actions of equal priority that other people have in its project, and People these people.
	Shared, People int
	// Turns counts the queued actions of equal priority of other projects, and Projects these projects.
	Turns, Projects int
	// Live counts the live actions that run on clusters.
	Live int
}

const (
	// No index has children by person: as many of a project are looked at as are counted.
	// Each kind of action and each runner has a range of its own in an index, and so have the projects before and after one.
	ofHigherPriority = ` AND a.runner = by.runner AND -a.priority < $2::integer`
	ofEqualPriority  = ` AND a.runner = by.runner AND -a.priority = $2::integer`
	ofProject        = ` AND a.project = $4`
	runnersThat      = ` FROM (VALUES ` + sqltext.Admitted + `) AS by (runner) CROSS JOIN LATERAL `

	aheadCount = `SELECT count(*) FROM (
		SELECT 1` + runnersThat + `(
			SELECT a.id FROM actions a WHERE ` + sqltext.IsQueuedRoot + ofHigherPriority + ` AND %[1]s
			UNION ALL SELECT a.id FROM actions a WHERE ` + sqltext.IsQueuedChild + ofHigherPriority + ` AND %[1]s
			UNION ALL SELECT a.id FROM actions a WHERE ` + sqltext.IsQueuedRoot + ofEqualPriority + ofProject + ` AND a.created_by_subject = $6 AND a.id < $3::bigint AND %[1]s
			UNION ALL SELECT c.id FROM (
				SELECT a.id, a.created_by_subject FROM actions a
				WHERE ` + sqltext.IsQueuedChild + ofEqualPriority + ofProject + ` AND a.id < $3::bigint AND %[1]s LIMIT $5) AS c
			WHERE c.created_by_subject = $6
		) AS w LIMIT $5) AS counted`
	sharedCount = `SELECT count(*), count(DISTINCT person) FROM (
		SELECT w.person` + runnersThat + `(
			SELECT a.created_by_subject AS person FROM actions a WHERE ` + sqltext.IsQueuedRoot + ofEqualPriority + ofProject + ` AND a.created_by_subject < $3 AND %[1]s
			UNION ALL SELECT a.created_by_subject FROM actions a WHERE ` + sqltext.IsQueuedRoot + ofEqualPriority + ofProject + ` AND a.created_by_subject > $3 AND %[1]s
			UNION ALL SELECT c.created_by_subject FROM (
				SELECT a.created_by_subject FROM actions a WHERE ` + sqltext.IsQueuedChild + ofEqualPriority + ofProject + ` AND %[1]s LIMIT $5) AS c
			WHERE c.created_by_subject <> $3
		) AS w LIMIT $5) AS counted`
	turnsCount = `SELECT count(*), count(DISTINCT project) FROM (
		SELECT w.project` + runnersThat + `(
			SELECT a.project FROM actions a WHERE ` + sqltext.IsQueuedRoot + ofEqualPriority + ` AND a.project < $3 AND %[1]s
			UNION ALL SELECT a.project FROM actions a WHERE ` + sqltext.IsQueuedRoot + ofEqualPriority + ` AND a.project > $3 AND %[1]s
			UNION ALL SELECT a.project FROM actions a WHERE ` + sqltext.IsQueuedChild + ofEqualPriority + ` AND a.project < $3 AND %[1]s
			UNION ALL SELECT a.project FROM actions a WHERE ` + sqltext.IsQueuedChild + ofEqualPriority + ` AND a.project > $3 AND %[1]s
		) AS w LIMIT $4) AS counted`
)

// Ahead returns the position of a queued action in its queue. For the default queue, others has the names of all other queues,
// and the name is ignored.
func (q *QueueReader) Ahead(ctx context.Context, queue string, others []string, a *schema.Action) (Standing, error) {
	within, argument := `a.queue = $1`, any(queue)
	if others != nil {
		within, argument = `a.queue <> ALL($1)`, others
	}
	var s Standing
	err := q.send(ctx, func(statements *pgx.Batch) {
		statements.Queue(fmt.Sprintf(aheadCount, within), argument, -a.Priority, a.ID, a.Project, MaxAhead, a.CreatedBySubject).
			QueryRow(func(row pgx.Row) error { return row.Scan(&s.Ahead) })
		statements.Queue(fmt.Sprintf(sharedCount, within), argument, -a.Priority, a.CreatedBySubject, a.Project, MaxAhead).
			QueryRow(func(row pgx.Row) error { return row.Scan(&s.Shared, &s.People) })
		statements.Queue(fmt.Sprintf(turnsCount, within), argument, -a.Priority, a.Project, MaxAhead).
			QueryRow(func(row pgx.Row) error { return row.Scan(&s.Turns, &s.Projects) })
		statements.Queue(liveCount).QueryRow(func(row pgx.Row) error { return row.Scan(&s.Live) })
	})
	if err != nil {
		return Standing{}, fmt.Errorf("count the actions ahead: %w", err)
	}
	return s, nil
}
