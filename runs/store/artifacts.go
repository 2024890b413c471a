package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// ArtifactKey names a version of an artifact.
type ArtifactKey struct{ Project, Domain, Name, Version string }

// artifactUse is a version among the inputs of a new run.
type artifactUse struct {
	run *row
	ArtifactKey
}

// use records the artifacts among the inputs of a new run.
func (b *batch) use(root *row, keys []ArtifactKey) {
	for _, key := range keys {
		b.uses = append(b.uses, artifactUse{root, key})
	}
}

const (
	insertUses = `
		INSERT INTO artifact_uses (run_id, project, domain, name, version, actions)
		SELECT *, ARRAY[u.run_id] FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
			AS u (run_id, project, domain, name, version)
		ON CONFLICT DO NOTHING`

	insertUnread = `
		INSERT INTO unread_inputs (action_id, run_id, next_at) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[])`

	insertProduced = `
		INSERT INTO produced_outputs (action_id, run_id, next_at) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[])
		ON CONFLICT DO NOTHING`
)

// saveArtifacts writes the uses of new runs, whose inputs are to be read, and which outputs must be registered. It costs nothing for actions that have
// to do with no artifacts. Registering outputs twice is harmless, so it does not matter that a row is written again when
// the action changes after its end.
func (b *batch) saveArtifacts(statements *pgx.Batch) {
	if len(b.uses) > 0 {
		statements.Queue(insertUses,
			column(b.uses, func(u artifactUse) int64 { return u.run.RunID }),
			column(b.uses, func(u artifactUse) string { return u.Project }),
			column(b.uses, func(u artifactUse) string { return u.Domain }),
			column(b.uses, func(u artifactUse) string { return u.Name }),
			column(b.uses, func(u artifactUse) string { return u.Version }))
	}
	if len(b.reads) > 0 {
		statements.Queue(insertUnread,
			column(b.reads, func(r *row) int64 { return r.ID }),
			column(b.reads, func(r *row) int64 { return r.RunID }),
			column(b.reads, func(*row) *time.Time { return atOnce() }))
	}
	var made []*row
	for _, run := range b.order {
		for _, r := range run.changed {
			if r.Produces && r.Phase == state.Succeeded && r.CacheStatus != int16(core.CatalogCacheStatus_CACHE_HIT) {
				made = append(made, r)
			}
		}
	}
	if len(made) > 0 {
		statements.Queue(insertProduced,
			column(made, func(r *row) int64 { return r.ID }),
			column(made, func(r *row) int64 { return r.RunID }),
			column(made, func(*row) time.Time { return b.now }))
		statements.Queue(notify, ChannelLists, ListProduced)
	}
}

// Produced is the list of actions whose outputs declare artifacts that are not registered yet.
type Produced struct{ pool *pgxpool.Pool }

// NewProduced returns a store on a pool that the caller owns.
func NewProduced(pool *pgxpool.Pool) *Produced { return &Produced{pool: pool} }

// ProducedOutputs are outputs to register.
type ProducedOutputs struct {
	ID        int64
	Action    ident.Action
	Attempt   int32
	OutputURI string
	// CreatedBy is the encoded common.EnrichedIdentity of who created the run.
	CreatedBy []byte
	Tries     int
}

// Pending reads the outputs that are due, longest due first. Those that wait for longer than the longest pause are due,
// too: they were postponed before the clock was set back.
func (p *Produced) Pending(ctx context.Context, now time.Time, longest time.Duration, limit int) ([]ProducedOutputs, error) {
	const query = `
		SELECT o.action_id, a.project, a.domain, a.run_name, a.name, a.attempt, a.output_uri, r.created_by, o.tries
		FROM (SELECT * FROM produced_outputs WHERE next_at <= $1 OR next_at > $2 ORDER BY next_at, action_id LIMIT $3) o
		JOIN actions a ON a.id = o.action_id
		JOIN actions r ON r.id = o.run_id
		ORDER BY o.next_at, o.action_id`
	rows, err := p.pool.Query(ctx, query, now, now.Add(longest), limit)
	if err != nil {
		return nil, fmt.Errorf("read produced outputs: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ProducedOutputs, error) {
		var o ProducedOutputs
		return o, row.Scan(&o.ID, &o.Action.Run.Project, &o.Action.Run.Domain, &o.Action.Run.Name, &o.Action.Name, &o.Attempt,
			&o.OutputURI, &o.CreatedBy, &o.Tries)
	})
	if err != nil {
		return nil, fmt.Errorf("read produced outputs: %w", err)
	}
	return found, nil
}

// Postpone records a failed try and when to retry.
func (p *Produced) Postpone(ctx context.Context, id int64, tries int, next time.Time) error {
	if _, err := p.pool.Exec(ctx, `UPDATE produced_outputs SET tries = $2, next_at = $3 WHERE action_id = $1`, id, tries, next); err != nil {
		return fmt.Errorf("postpone produced outputs: %w", err)
	}
	return nil
}

// Done deletes outputs that are registered.
func (p *Produced) Done(ctx context.Context, id int64) error {
	if _, err := p.pool.Exec(ctx, `DELETE FROM produced_outputs WHERE action_id = $1`, id); err != nil {
		return fmt.Errorf("delete produced outputs: %w", err)
	}
	return nil
}
