package store

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// When an action ends, everything unfinished below it is aborted. A small subtree is aborted by the transaction that
// ends its top. For a large one that transaction only makes a sweep due at the top (DueSubtree). Timers then abort the
// children of the top, a portion at a time, and each child that has unfinished children becomes the top of a sweep of
// its own. So no transaction is larger than a portion, and since a sweep is due until nothing is left, it continues where
// it stopped when a process dies.

// The children of an action are read through actions_unfinished, so that those that have ended cost nothing. Pairs are
// compared since Postgres cannot conclude from them that parent_name is not NULL, so actions_run_parent, which has all
// children, is not an option. See loadRows on BETWEEN.
const (
	// Everything below a finished action is finished or will be swept, so the walk may stop there.
	loadSubtrees = `
		WITH RECURSIVE below AS (
			SELECT a.* FROM unnest($1::bigint[], $2::text[]) AS k (run_id, name)
			CROSS JOIN LATERAL (
				SELECT * FROM actions WHERE (run_id, parent_name) BETWEEN (k.run_id, k.name) AND (k.run_id, k.name) AND ended_at IS NULL
				ORDER BY run_id, parent_name OFFSET 0) AS a
			UNION
			SELECT a.* FROM below
			CROSS JOIN LATERAL (
				SELECT * FROM actions WHERE (run_id, parent_name) BETWEEN (below.run_id, below.name) AND (below.run_id, below.name) AND ended_at IS NULL
				ORDER BY run_id, parent_name OFFSET 0) AS a
		)
		SELECT ` + decisionColumns + ` FROM below a LIMIT $3`

	loadPortions = `
		SELECT ` + decisionColumns + `, (
			SELECT c.id FROM actions c
			WHERE (c.run_id, c.parent_name) BETWEEN (a.run_id, a.name) AND (a.run_id, a.name) AND c.ended_at IS NULL
			ORDER BY c.run_id, c.parent_name LIMIT 1) IS NOT NULL AS unread
		FROM unnest($1::bigint[], $2::text[]) AS k (run_id, name)
		CROSS JOIN LATERAL (
			SELECT * FROM actions WHERE (run_id, parent_name) BETWEEN (k.run_id, k.name) AND (k.run_id, k.name) AND ended_at IS NULL
			ORDER BY run_id, parent_name LIMIT $3) AS a`
)

// readSubtrees queues the read of everything unfinished below the actions that may end in this batch. The result is for
// addSubtrees.
func (b *batch) readSubtrees(statements *pgx.Batch, p *plan) *[]*row {
	below := &[]*row{}
	if ids, names := b.keys(p.subtrees); len(ids) > 0 {
		statements.Queue(loadSubtrees, ids, names, b.portion+1).Query(eachRow(func(r *row) { *below = append(*below, r) }))
	}
	return below
}

// addSubtrees adds the subtrees to the batch, or marks their tops when they are too large together.
func (b *batch) addSubtrees(p *plan, below []*row) {
	if len(below) <= b.portion {
		for _, r := range below {
			b.add(r)
		}
		return
	}
	for action := range p.subtrees {
		if top := b.find(action); top != nil {
			top.unread = true
		}
	}
}

// readPortions queues the read of the next children for each sweep of this batch.
func (b *batch) readPortions(statements *pgx.Batch, p *plan) {
	ids, names := b.keys(p.sweeps)
	if len(ids) == 0 {
		return
	}
	b.swept = max(1, b.portion/len(ids))
	statements.Queue(loadPortions, ids, names, b.swept).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			var unread bool
			r, err := scanDecision(rows, &unread)
			if err != nil {
				return err
			}
			r = b.add(r)
			r.unread = unread
			top := ident.Action{Run: r.ident().Run, Name: *r.ParentName}
			b.portions[top] = append(b.portions[top], r)
		}
		return rows.Err()
	})
}

// abortOrphans aborts the unfinished actions below actions that ended in this batch, or makes sweeps due that will.
func (b *batch) abortOrphans(run *run) {
	for i := 0; i < len(run.ended); i++ { // aborting appends to it
		parent := run.ended[i]
		switch {
		case !state.Terminal(parent.Phase): // another attempt followed
		case parent.unread && !parent.mayRetry():
			parent.WakeAt, parent.Due = atOnce(), schema.DueSubtree
			b.touch(parent)
		case parent.mayRetry():
			b.abortLater(parent)
		default:
			reason := orphaned(parent)
			for _, r := range run.unfinished(parent.Name) {
				b.abort(r, reason, nil)
			}
		}
	}
}

func orphaned(parent *row) string {
	return fmt.Sprintf("parent action %s ended: %s", parent.Name, state.Name(parent.Phase))
}

// sweep aborts the next portion of the children of a finished action. They have its reason if it was aborted.
func (b *batch) sweep(top *row) {
	reason, by := top.AbortReason, top.AbortedBy
	if top.Phase != state.Aborted {
		reason, by = orphaned(top), nil
	}
	children := b.portions[top.ident()]
	for _, r := range children {
		if !state.Terminal(r.Phase) {
			b.abort(r, reason, by)
		}
	}
	if len(children) < b.swept {
		top.WakeAt, top.Due = nil, schema.DueNothing
		b.touch(top)
	}
}
