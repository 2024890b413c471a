package store

import (
	"cmp"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

const insertPlacements = `
	INSERT INTO placements (action_id, reason) SELECT * FROM unnest($1::bigint[], $2::text[])
	ON CONFLICT (action_id) DO UPDATE SET reason = excluded.reason`

// placed is an action that got a cluster among several.
type placed struct {
	row    *row
	reason string
}

// openPlaces begins the decisions of a batch. With one cluster there is nothing to decide.
func (b *batch) openPlaces(book *placement.Book) {
	if book == nil {
		return
	}
	cluster, sole := book.Sole()
	b.sole = cluster
	if !sole {
		b.places = book.Begin()
	}
}

// recordedIn is the cluster of a new row. That of an action that runs on a cluster is decided when the action is admitted, unless its
// queue names one and its run no pool.
func (b *batch) recordedIn(r *row) string {
	q := b.queues.Of(r.Queue)
	switch {
	case r.ActionType != schema.ActionTask || !r.Runner.OnCluster():
		return q.RunsIn()
	case r.Asks != nil && r.Asks.Pool != "":
		return ""
	}
	return q.Cluster
}

// place chooses the cluster of an action that is about to be admitted, or reports that it has to wait for one. Then it leaves the
// queue, so that actions behind it which ask for less can pass.
func (b *batch) place(r *row) bool {
	q := b.queues.Of(r.Queue)
	switch {
	case !r.Runner.OnCluster():
		r.Cluster = q.RunsIn()
		return true
	case b.places == nil:
		r.Cluster = cmp.Or(q.Cluster, b.sole, ident.DefaultCluster)
		return true
	}
	request := placement.Request{Project: r.Project, Domain: r.Domain}
	if r.Asks != nil {
		request = *r.Asks
	}
	request.Queue, request.Pin, request.Avoid = q.Name, q.Cluster, r.AvoidCluster
	choice := b.places.Choose(r.ID, &request)
	if choice.Cluster == "" {
		r.Hold = schema.HoldPlacement
		b.touch(r)
		return false
	}
	r.Cluster = choice.Cluster
	if choice.Words != "" {
		b.placed = append(b.placed, placed{row: r, reason: choice.Words})
	}
	return true
}

// savePlacements stores why actions run where they do.
func (b *batch) savePlacements(statements *pgx.Batch) {
	if len(b.placed) > 0 {
		statements.Queue(insertPlacements,
			sqltext.Column(b.placed, func(p placed) int64 { return p.row.ID }),
			sqltext.Column(b.placed, func(p placed) string { return p.reason }))
	}
}

// settlePlaces books what a commit admitted, and frees what has ended.
func (b *batch) settlePlaces(book *placement.Book, change LiveChange) {
	if book == nil {
		return
	}
	if b.places != nil {
		b.places.Commit(b.now)
	}
	book.Ended(sqltext.Column(change.Ended, func(r schema.Ref) int64 { return r.ID })...)
}
