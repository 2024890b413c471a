package worklists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// ClusterSpec is how often a project has a spec live on a cluster.
type ClusterSpec struct {
	Project, Domain string
	// Runner runs the actions, whose workers may have the resources.
	Runner schema.Runner
	Digest []byte
	// Live are the attempts that run there or are about to, Pending those of them that have not begun.
	Live, Pending int
}

// ClusterRun is what a run has live on a cluster.
type ClusterRun struct {
	RunID         int64
	Run           ident.Run
	Live, Pending int
	CPU, Memory   int64
}

// liveOn are the conditions on actions a that are live on the cluster in parameter $1.
const liveOn = `a.admitted_at IS NOT NULL AND a.ended_at IS NULL AND a.runner IN ` + sqltext.OnCluster + ` AND a.cluster = $1`

// pendingCount counts those that have not begun.
const pendingCount = `count(*) FILTER (WHERE a.phase IN (` + sqltext.Queued + `, ` + sqltext.WaitingForResources + `))`

// SpecsOnCluster counts the live actions of a cluster by project, domain and spec, within the scope of the call.
func (p *PlacementReader) SpecsOnCluster(ctx context.Context, cluster string) ([]ClusterSpec, error) {
	within, args := sqltext.WithinScope(ctx, []any{cluster})
	rows, err := p.pool.Query(ctx, `SELECT a.project, a.domain, a.runner, a.spec_digest, count(*), `+pendingCount+`
		FROM actions a WHERE `+liveOn+within+` GROUP BY 1, 2, 3, 4`, args...)
	if err != nil {
		return nil, fmt.Errorf("count what projects have on cluster %s: %w", cluster, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ClusterSpec])
	if err != nil {
		return nil, fmt.Errorf("count what projects have on cluster %s: %w", cluster, err)
	}
	return found, nil
}

// AskedSpec is what one action with a spec asks for.
type AskedSpec struct {
	Digest      []byte
	CPU, Memory int64
}

// RunsOnCluster reads the runs that ask for most on a cluster, by what their specs ask for, within the scope of the call, and how many
// runs there are.
func (p *PlacementReader) RunsOnCluster(ctx context.Context, cluster string, asked []AskedSpec, limit int) (runs []ClusterRun, total int, err error) {
	digests, cpu, memory := make([][]byte, len(asked)), make([]int64, len(asked)), make([]int64, len(asked))
	for i, one := range asked {
		digests[i], cpu[i], memory[i] = one.Digest, one.CPU, one.Memory
	}
	within, args := sqltext.WithinScope(ctx, []any{cluster, digests, cpu, memory, limit})
	// The sums are bounded: a task may ask for any number, which no cluster has.
	rows, err := p.pool.Query(ctx, `
		SELECT a.run_id, a.project, a.domain, a.run_name, count(*), `+pendingCount+`,
			least(coalesce(sum(asked.cpu), 0), 9e18)::bigint AS cpu, least(coalesce(sum(asked.memory), 0), 9e18)::bigint AS memory, count(*) OVER ()
		FROM actions a LEFT JOIN unnest($2::bytea[], $3::bigint[], $4::bigint[]) AS asked (digest, cpu, memory)
			ON asked.digest = a.spec_digest AND a.runner = `+sqltext.Executor+`
		WHERE `+liveOn+within+`
		GROUP BY a.run_id, a.project, a.domain, a.run_name ORDER BY cpu DESC, memory DESC, count(*) DESC, a.run_id LIMIT $5`, args...)
	if err != nil {
		return nil, 0, fmt.Errorf("read what runs have on cluster %s: %w", cluster, err)
	}
	runs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (r ClusterRun, err error) {
		return r, row.Scan(&r.RunID, &r.Run.Project, &r.Run.Domain, &r.Run.Name, &r.Live, &r.Pending, &r.CPU, &r.Memory, &total)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read what runs have on cluster %s: %w", cluster, err)
	}
	return runs, total, nil
}

// WaitingAction is an action that waits.
type WaitingAction struct {
	ID        int64
	RunID     int64
	Action    ident.Action
	CreatedAt time.Time
}

const waitingColumns = `a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.created_at`

// HeldWithin reads a page of the actions that wait for a cluster, oldest first, after a given action, within the scope of the call.
func (p *PlacementReader) HeldWithin(ctx context.Context, after int64, limit int) ([]WaitingAction, error) {
	within, args := sqltext.WithinScope(ctx, []any{schema.HoldPlacement, after, limit})
	return p.waiting(ctx, `SELECT `+waitingColumns+` FROM actions a
		WHERE a.hold = $1 AND a.hold <> `+sqltext.NoHold+` AND a.ended_at IS NULL AND a.id > $2`+within+` ORDER BY a.hold, a.id LIMIT $3`, args)
}

// PendingOn reads a page of the actions that a cluster has and has not begun, in the order (run, id), after one of them, within the scope
// of the call.
func (p *PlacementReader) PendingOn(ctx context.Context, cluster string, afterRun, after int64, limit int) ([]WaitingAction, error) {
	within, args := sqltext.WithinScope(ctx, []any{cluster, afterRun, after, limit})
	return p.waiting(ctx, `SELECT `+waitingColumns+` FROM actions a
		WHERE `+liveOn+` AND a.phase IN (`+sqltext.Queued+`, `+sqltext.WaitingForResources+`) AND (a.run_id, a.id) > ($2, $3)`+within+`
		ORDER BY a.run_id, a.id LIMIT $4`, args)
}

func (p *PlacementReader) waiting(ctx context.Context, query string, args []any) ([]WaitingAction, error) {
	rows, err := p.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read what waits for clusters: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w WaitingAction, err error) {
		run := &w.Action.Run
		return w, row.Scan(&w.ID, &w.RunID, &run.Project, &run.Domain, &run.Name, &w.Action.Name, &w.CreatedAt)
	})
	if err != nil {
		return nil, fmt.Errorf("read what waits for clusters: %w", err)
	}
	return found, nil
}
