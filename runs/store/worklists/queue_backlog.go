package worklists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

const (
	// The backlog of each queue is read separately, so that a long queue does not hide others. Within a queue it skips
	// from person to person, so that a project with many runs does not hide others. Each has an equal part of the rows.
	waitingRoots = `
		WITH RECURSIVE names AS (
			(SELECT a.queue FROM actions a WHERE ` + sqltext.IsQueuedRoot + rootsInOrder + `LIMIT 1)
			UNION ALL
			SELECT (SELECT a.queue FROM actions a WHERE ` + sqltext.IsQueuedRoot + ` AND a.queue > names.queue` + rootsInOrder + `LIMIT 1)
			FROM names WHERE names.queue IS NOT NULL
		)
		SELECT names.queue, p.runner, -p.behind, p.project, p.person, p.part, ARRAY(
			SELECT a.id FROM actions a
			WHERE ` + sqltext.IsQueuedRoot + ` AND a.queue = names.queue
				AND (a.runner, -a.priority, a.project, a.created_by_subject, a.id) > (p.runner, p.behind, p.project, p.person, 0)
				AND (a.runner, -a.priority, a.project, a.created_by_subject, a.id) < (p.runner, p.behind, p.project, p.person, ` + maxID + `)` +
		rootsInOrder + `LIMIT p.part)
		FROM names CROSS JOIN LATERAL (
			WITH RECURSIVE people AS (
				(SELECT a.runner, -a.priority AS behind, a.project, a.created_by_subject AS person FROM actions a
				WHERE ` + sqltext.IsQueuedRoot + ` AND a.queue = names.queue` + rootsInOrder + `LIMIT 1)
				UNION ALL
				SELECT next.* FROM people CROSS JOIN LATERAL (
					SELECT a.runner, -a.priority AS behind, a.project, a.created_by_subject FROM actions a
					WHERE ` + sqltext.IsQueuedRoot + ` AND a.queue = names.queue
						AND (a.runner, -a.priority, a.project, a.created_by_subject) > (people.runner, people.behind, people.project, people.person)` +
		rootsInOrder + `LIMIT 1) AS next
			)
			SELECT first.*, least($2::bigint, greatest(1, $1::bigint / count(*) OVER ())) AS part
			FROM (SELECT * FROM people LIMIT $1::bigint) AS first) AS p
		WHERE names.queue IS NOT NULL`

	// It skips from project to project, and in each from run to run, however many actions of each wait.
	waitingChildren = `
		WITH RECURSIVE names AS (
			(SELECT a.queue FROM actions a WHERE ` + sqltext.IsQueuedChild + childrenInOrder + `LIMIT 1)
			UNION ALL
			SELECT (SELECT a.queue FROM actions a WHERE ` + sqltext.IsQueuedChild + ` AND a.queue > names.queue` + childrenInOrder + `LIMIT 1)
			FROM names WHERE names.queue IS NOT NULL
		)
		SELECT names.queue, p.runner, -p.behind, p.project, p.part, w.run_id, r.created_by_subject, r.max_concurrency, r.ended_at IS NULL
		FROM names CROSS JOIN LATERAL (
			WITH RECURSIVE projects AS (
				(SELECT a.runner, -a.priority AS behind, a.project FROM actions a
				WHERE ` + sqltext.IsQueuedChild + ` AND a.queue = names.queue` + childrenInOrder + `LIMIT 1)
				UNION ALL
				SELECT next.* FROM projects CROSS JOIN LATERAL (
					SELECT a.runner, -a.priority AS behind, a.project FROM actions a
					WHERE ` + sqltext.IsQueuedChild + ` AND a.queue = names.queue
						AND (a.runner, -a.priority, a.project) > (projects.runner, projects.behind, projects.project)` + childrenInOrder + `LIMIT 1) AS next
			)
			SELECT first.*, greatest(1, $1::bigint / count(*) OVER ()) AS part FROM (SELECT * FROM projects LIMIT $1::bigint) AS first) AS p
		CROSS JOIN LATERAL (
			WITH RECURSIVE hops AS (
				SELECT 0::bigint AS run_id
				UNION ALL
				SELECT next.run_id FROM hops CROSS JOIN LATERAL (
					SELECT a.run_id FROM actions a
					WHERE ` + sqltext.IsQueuedChild + ` AND a.queue = names.queue
						AND (a.runner, -a.priority, a.project, a.run_id) > (p.runner, p.behind, p.project, hops.run_id)
						AND (a.runner, -a.priority, a.project, a.run_id) < (p.runner, p.behind, p.project, ` + maxID + `)` + childrenInOrder + `LIMIT 1) AS next
			)
			SELECT hops.run_id FROM hops OFFSET 1 LIMIT p.part) AS w
		JOIN actions r ON r.id = w.run_id
		WHERE names.queue IS NOT NULL`

	liveCount = `SELECT count(*) FROM actions a WHERE ` + sqltext.IsLive + ` AND a.runner IN ` + sqltext.OnCluster
)

// Backlog reads, in one round trip, the groups of each queue: up to limit of roots, with the oldest of each, up to depth,
// and up to limit of children. Where people or projects share the limit, each has an equal part of it.
func (q *QueueReader) Backlog(ctx context.Context, limit, depth int) (*Backlog, error) {
	b := &Backlog{}
	err := q.send(ctx, func(statements *pgx.Batch) {
		statements.Queue(waitingRoots, limit, depth).Query(func(rows pgx.Rows) error { return b.addRoots(rows, limit) })
		statements.Queue(waitingChildren, limit).Query(func(rows pgx.Rows) error { return b.addChildren(rows, limit) })
		statements.Queue(liveCount).QueryRow(func(row pgx.Row) error { return row.Scan(&b.Live) })
	})
	if err != nil {
		return nil, fmt.Errorf("read queued actions: %w", err)
	}
	return b, nil
}

func (b *Backlog) addRoots(rows pgx.Rows, limit int) error {
	groups := map[string]int{}
	w := Waiting{Root: true}
	var part int
	_, err := pgx.ForEachRow(rows, []any{&w.Queue, &w.Runner, &w.Priority, &w.Project, &w.Person, &part, &w.IDs}, func() error {
		w.More = len(w.IDs) >= part
		b.Waiting = append(b.Waiting, w)
		w.IDs = nil
		groups[w.Queue]++
		b.Truncated = b.Truncated || groups[w.Queue] >= limit
		return nil
	})
	return err
}

func (b *Backlog) addChildren(rows pgx.Rows, limit int) error {
	type share struct {
		queue    string
		runner   schema.Runner
		priority int32
		project  string
	}
	runs, groups := map[share]int{}, map[string]int{}
	var w Waiting
	var part int
	var open bool // the children of a finished run are about to be aborted
	row := []any{&w.Queue, &w.Runner, &w.Priority, &w.Project, &part, &w.RunID, &w.Person, &w.RunLimit, &open}
	_, err := pgx.ForEachRow(rows, row, func() error {
		if open {
			b.Waiting = append(b.Waiting, w)
		}
		of := share{w.Queue, w.Runner, w.Priority, w.Project}
		runs[of]++
		groups[w.Queue]++
		b.Truncated = b.Truncated || runs[of] >= part || groups[w.Queue] >= limit
		return nil
	})
	return err
}
