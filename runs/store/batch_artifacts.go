package store

import (
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// artifactUse is a version among the inputs of a new run.
type artifactUse struct {
	run *row
	schema.ArtifactKey
}

// use records the artifacts among the inputs of a new run.
func (b *batch) use(root *row, keys []schema.ArtifactKey) {
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
			sqltext.Column(b.uses, func(u artifactUse) int64 { return u.run.RunID }),
			sqltext.Column(b.uses, func(u artifactUse) string { return u.Project }),
			sqltext.Column(b.uses, func(u artifactUse) string { return u.Domain }),
			sqltext.Column(b.uses, func(u artifactUse) string { return u.Name }),
			sqltext.Column(b.uses, func(u artifactUse) string { return u.Version }))
	}
	if len(b.reads) > 0 {
		statements.Queue(insertUnread,
			sqltext.Column(b.reads, func(r *row) int64 { return r.ID }),
			sqltext.Column(b.reads, func(r *row) int64 { return r.RunID }),
			sqltext.Column(b.reads, func(*row) *time.Time { return atOnce() }))
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
			sqltext.Column(made, func(r *row) int64 { return r.ID }),
			sqltext.Column(made, func(r *row) int64 { return r.RunID }),
			sqltext.Column(made, func(*row) time.Time { return b.now }))
		statements.Queue(notices.Notify, notices.ChannelLists, notices.ListProduced)
	}
}
