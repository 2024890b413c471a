package worklists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Unread is the list of actions whose inputs are to be read for the artifacts among them.
type Unread struct{ pool *pgxpool.Pool }

// NewUnread returns a store on a pool that the caller owns.
func NewUnread(pool *pgxpool.Pool) *Unread { return &Unread{pool: pool} }

// UnreadInputs are inputs to read.
type UnreadInputs struct {
	ID       int64
	Action   ident.Action
	InputURI string
	Tries    int
}

// Pending reads the inputs that are due, longest due first. Those that wait for longer than the longest pause are due,
// too: they were postponed before the clock was set back. Inputs wait while outputs of earlier actions of the run are not
// registered: they may be among the inputs.
func (u *Unread) Pending(ctx context.Context, now time.Time, longest time.Duration, limit int) ([]UnreadInputs, error) {
	const query = `
		SELECT u.action_id, a.project, a.domain, a.run_name, a.name, a.input_uri, u.tries
		FROM (
			SELECT * FROM unread_inputs u WHERE (next_at <= $1 OR next_at > $2)
				AND NOT EXISTS (SELECT FROM produced_outputs p WHERE p.run_id = u.run_id AND p.action_id < u.action_id)
			ORDER BY next_at, action_id LIMIT $3
		) u JOIN actions a ON a.id = u.action_id
		ORDER BY u.next_at, u.action_id`
	rows, err := u.pool.Query(ctx, query, now, now.Add(longest), limit)
	if err != nil {
		return nil, fmt.Errorf("list unread inputs: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (UnreadInputs, error) {
		var i UnreadInputs
		return i, row.Scan(&i.ID, &i.Action.Run.Project, &i.Action.Run.Domain, &i.Action.Run.Name, &i.Action.Name, &i.InputURI, &i.Tries)
	})
	if err != nil {
		return nil, fmt.Errorf("list unread inputs: %w", err)
	}
	return found, nil
}

// Postpone records that inputs could not be read, and when to retry.
func (u *Unread) Postpone(ctx context.Context, ids []int64, next []time.Time) error {
	const update = `
		UPDATE unread_inputs i SET tries = i.tries + 1, next_at = u.next_at
		FROM unnest($1::bigint[], $2::timestamptz[]) AS u (action_id, next_at) WHERE i.action_id = u.action_id`
	if _, err := u.pool.Exec(ctx, update, ids, next); err != nil {
		return fmt.Errorf("postpone unread inputs: %w", err)
	}
	return nil
}

// FoundUse is a version among the inputs of an action.
type FoundUse struct {
	ActionID int64
	schema.ArtifactKey
}

// Read takes inputs from the list and records the versions among them. Of a run that was deleted, it records nothing.
func (u *Unread) Read(ctx context.Context, ids []int64, found []FoundUse) error {
	const update = `
		WITH taken AS (DELETE FROM unread_inputs WHERE action_id = ANY($1::bigint[]) RETURNING action_id, run_id)
		INSERT INTO artifact_uses (run_id, project, domain, name, version, actions)
		SELECT t.run_id, f.project, f.domain, f.name, f.version, (array_agg(t.action_id ORDER BY t.action_id))[1:10]
		FROM unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[]) AS f (action_id, project, domain, name, version)
		JOIN taken t USING (action_id) GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
		ON CONFLICT (run_id, project, domain, name, version) DO UPDATE SET actions = (
			SELECT (array_agg(DISTINCT a ORDER BY a))[1:10] FROM unnest(artifact_uses.actions || excluded.actions) AS a
		) WHERE cardinality(artifact_uses.actions) < 10`
	if _, err := u.pool.Exec(ctx, update, ids,
		sqltext.Column(found, func(f FoundUse) int64 { return f.ActionID }), sqltext.Column(found, func(f FoundUse) string { return f.Project }),
		sqltext.Column(found, func(f FoundUse) string { return f.Domain }), sqltext.Column(found, func(f FoundUse) string { return f.Name }),
		sqltext.Column(found, func(f FoundUse) string { return f.Version })); err != nil {
		return fmt.Errorf("record uses of artifacts: %w", err)
	}
	return nil
}
