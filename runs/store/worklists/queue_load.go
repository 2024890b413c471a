package worklists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// isLeaf: it does not wait for a task of its own. The order forces the index that has the parent.
const isLeaf = `(SELECT c.id FROM actions c
	WHERE c.run_id = a.run_id AND c.parent_name BETWEEN a.name AND a.name AND c.ended_at IS NULL AND c.action_type = ` + sqltext.Task + `
	ORDER BY c.parent_name LIMIT 1) IS NULL`

// LoadScope says what to count the load of: everything, or some queues (as stored) and some runs.
type LoadScope struct {
	All bool
	// Owners says that Load.Parts must have the projects and people.
	Owners bool
	Queues []string
	Runs   []int64
}

// Load is the number of live actions. Actions that wait for a task of their own do not count.
type Load struct {
	// Parts has the live actions by queue and run, for the queues in the scope.
	Parts []LoadPart
	// Runs counts the actions of the runs in the scope; with All, of every run.
	Runs map[int64]int
}

// LoadPart is the live actions of one run in one queue.
type LoadPart struct {
	Queue string
	RunID int64
	// Project and Person have the run; empty unless the scope asks for owners.
	Project, Person string
	// Actions is the number of places taken; Executor is how many of them run on clusters.
	Actions, Executor int
	// Root says that the root action is among them or waits for its children.
	Root bool
}

const (
	loadParts = `
		SELECT a.queue, a.run_id, count(*) FILTER (WHERE l.leaf) AS actions,
			count(*) FILTER (WHERE l.leaf AND a.runner IN ` + sqltext.OnCluster + `) AS executor, bool_or(a.parent_name IS NULL) AS root
		FROM actions a CROSS JOIN LATERAL (SELECT ` + isLeaf + ` AS leaf OFFSET 0) AS l
		WHERE ` + sqltext.IsLive
	loadByQueue  = ` GROUP BY a.queue, a.run_id`
	loadOfQueues = ` AND a.queue = ANY($1) AND a.queue <> ''` // the second condition is the predicate of the index

	// withOwners adds who has the run; withoutOwners saves that a look at each live run.
	withOwners    = `SELECT p.*, r.project, r.created_by_subject FROM (%s) AS p JOIN actions r ON r.id = p.run_id`
	withoutOwners = `SELECT p.*, '', '' FROM (%s) AS p`

	loadOfRuns = `SELECT a.run_id, count(*) FROM actions a WHERE a.run_id = ANY($1) AND ` + sqltext.IsLive + ` AND ` + isLeaf + ` GROUP BY a.run_id`
)

// Load counts live actions in one round trip; an empty scope needs none.
func (q *QueueReader) Load(ctx context.Context, scope LoadScope) (*Load, error) {
	load := &Load{Runs: map[int64]int{}}
	if !scope.All && len(scope.Queues) == 0 && len(scope.Runs) == 0 {
		return load, nil
	}
	err := q.send(ctx, func(statements *pgx.Batch) {
		parts := withoutOwners
		if scope.Owners {
			parts = withOwners
		}
		switch {
		case scope.All:
			statements.Queue(fmt.Sprintf(parts, loadParts+loadByQueue)).Query(load.addParts(true))
		case len(scope.Queues) > 0:
			statements.Queue(fmt.Sprintf(parts, loadParts+loadOfQueues+loadByQueue), scope.Queues).Query(load.addParts(false))
		}
		if !scope.All && len(scope.Runs) > 0 {
			statements.Queue(loadOfRuns, scope.Runs).Query(func(rows pgx.Rows) error {
				var id int64
				var n int
				_, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error {
					load.Runs[id] = n
					return nil
				})
				return err
			})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("count live actions: %w", err)
	}
	return load, nil
}

func (l *Load) addParts(all bool) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var part LoadPart
		_, err := pgx.ForEachRow(rows, []any{&part.Queue, &part.RunID, &part.Actions, &part.Executor, &part.Root, &part.Project, &part.Person}, func() error {
			l.Parts = append(l.Parts, part)
			if all {
				l.Runs[part.RunID] += part.Actions
			}
			return nil
		})
		return err
	}
}

// Depth is the number of waiting actions of a queue, as stored.
type Depth struct {
	Queue  string
	Waits  int
	Oldest time.Time // when the longest waiting action was created
}

// Depths counts waiting actions, including held ones, by queue as stored.
func (q *QueueReader) Depths(ctx context.Context) ([]Depth, error) {
	const query = `
		SELECT w.queue, count(*), min(w.created_at) FROM (
			SELECT a.queue, a.created_at FROM actions a WHERE ` + sqltext.IsQueuedRoot + `
			UNION ALL SELECT a.queue, a.created_at FROM actions a WHERE ` + sqltext.IsQueuedChild + `
			UNION ALL SELECT a.queue, a.created_at FROM actions a WHERE ` + sqltext.IsHeld + `) AS w
		GROUP BY w.queue ORDER BY w.queue`
	var depths []Depth
	err := q.send(ctx, func(statements *pgx.Batch) {
		statements.Queue(query).Query(func(rows pgx.Rows) (err error) {
			depths, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Depth])
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("count waiting actions: %w", err)
	}
	return depths, nil
}
