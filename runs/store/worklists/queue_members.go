package worklists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// The oldest actions of groups.
const (
	memberChildren = `
		SELECT g.n, w.id
		FROM unnest($1::text[], $2::smallint[], $3::integer[], $4::text[], $5::bigint[]) WITH ORDINALITY AS g (queue, runner, behind, project, run_id, n)
		CROSS JOIN LATERAL (
			SELECT a.id FROM actions a
			WHERE ` + sqltext.IsQueuedChild + ` AND a.queue = g.queue
				AND (a.runner, -a.priority, a.project, a.run_id, a.id) > (g.runner, g.behind, g.project, g.run_id, 0)
				AND (a.runner, -a.priority, a.project, a.run_id, a.id) < (g.runner, g.behind, g.project, g.run_id, ` + maxID + `)` +
		childrenInOrder + `LIMIT $6) AS w
		ORDER BY g.n, w.id`
	memberRoots = `
		SELECT g.n, w.id
		FROM unnest($1::text[], $2::smallint[], $3::integer[], $4::text[], $5::text[]) WITH ORDINALITY AS g (queue, runner, behind, project, person, n)
		CROSS JOIN LATERAL (
			SELECT a.id FROM actions a
			WHERE ` + sqltext.IsQueuedRoot + ` AND a.queue = g.queue
				AND (a.runner, -a.priority, a.project, a.created_by_subject, a.id) > (g.runner, g.behind, g.project, g.person, 0)
				AND (a.runner, -a.priority, a.project, a.created_by_subject, a.id) < (g.runner, g.behind, g.project, g.person, ` + maxID + `)` +
		rootsInOrder + `LIMIT $6) AS w
		ORDER BY g.n, w.id`
)

// Members reads the oldest actions of groups, at most depth of each, in one round trip.
func (q *QueueReader) Members(ctx context.Context, groups []*Waiting, depth int) error {
	var roots, children []*Waiting
	for _, g := range groups {
		g.IDs, g.More = nil, false
		if g.Root {
			roots = append(roots, g)
		} else {
			children = append(children, g)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	err := q.send(ctx, func(statements *pgx.Batch) {
		if len(roots) > 0 {
			people := sqltext.Column(roots, func(g *Waiting) string { return g.Person })
			readMembers(statements, memberRoots, roots, people, depth)
		}
		if len(children) > 0 {
			runs := sqltext.Column(children, func(g *Waiting) int64 { return g.RunID })
			readMembers(statements, memberChildren, children, runs, depth)
		}
	})
	if err != nil {
		return fmt.Errorf("read queued actions: %w", err)
	}
	return nil
}

// readMembers fills in the ids of groups; last is the column that distinguishes the groups of a project.
func readMembers(statements *pgx.Batch, query string, groups []*Waiting, last any, depth int) {
	statements.Queue(query,
		sqltext.Column(groups, func(g *Waiting) string { return g.Queue }), sqltext.Column(groups, func(g *Waiting) int16 { return int16(g.Runner) }),
		sqltext.Column(groups, func(g *Waiting) int32 { return -g.Priority }), sqltext.Column(groups, func(g *Waiting) string { return g.Project }),
		last, depth,
	).Query(func(rows pgx.Rows) error {
		var n, id int64
		_, err := pgx.ForEachRow(rows, []any{&n, &id}, func() error {
			g := groups[n-1]
			g.IDs = append(g.IDs, id)
			g.More = len(g.IDs) >= depth
			return nil
		})
		return err
	})
}
