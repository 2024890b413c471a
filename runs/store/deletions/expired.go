package deletions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// Store finds expired runs and deletes their rows. Apart from Writer it is the only code that changes actions,
// and it changes only finished runs: it first hides the run under the lock of its root, after which no operation
// finds it.
type Store struct {
	pool    *pgxpool.Pool
	replica string
	channel string
	isFree  string
}

// Deps are the dependencies of a Store. Pool and Replica are required.
type Deps struct {
	// Pool is the caller's.
	Pool *pgxpool.Pool
	// Replica is the name that notifications carry.
	Replica string
	// Channel is where hidden runs are announced; empty means ChannelRuns.
	Channel string
	// InUse are conditions over the root a of a run, in SQL: where one holds, the run stays.
	InUse []string
}

// New returns a store that finds and deletes runs of the pool.
func New(deps Deps) *Store {
	free := isFree
	for _, condition := range deps.InUse {
		free += " AND (a.run_output_base = '' OR NOT (" + condition + "))"
	}
	return &Store{pool: deps.Pool, replica: deps.Replica, channel: cmp.Or(deps.Channel, notices.ChannelRuns), isFree: free}
}

// StartedWithin is a condition for Deps.InUse: a run in another Postgres schema was started with inputs in the
// directory of this one. namespace is part of the statement.
func StartedWithin(namespace string) string {
	return `EXISTS (SELECT FROM ` + namespace + `.actions i WHERE i.parent_name IS NULL
		AND i.input_uri ~>=~ a.run_output_base AND i.input_uri ~<~ (left(a.run_output_base, -1) || '0'))`
}

// Expiry says which runs are expired.
type Expiry struct {
	// EndedBefore is the age limit; zero means none.
	EndedBefore time.Time
	// Keep is how many of the newest runs of each project and domain are kept; 0 means all.
	Keep int
	// Settled is the end of the time in which a run that has just ended is left alone, whatever the limits say.
	Settled time.Time
}

// ExpiredRun is a run that may be deleted.
type ExpiredRun struct {
	ID         int64
	Run        ident.Run
	OutputBase string
	CreatedAt  time.Time
	EndedAt    time.Time
	// Surplus says that the configured number of runs to keep are all younger; otherwise the run is too old.
	Surplus bool
}

// Cut is the position among the runs of a scope from which runs are surplus.
type Cut struct {
	CreatedAt time.Time
	ID        int64
}

// Scopes lists the projects and domains that have runs.
func (r *Store) Scopes(ctx context.Context) ([]schema.Scope, error) {
	return watches.NewReader(r.pool).Scopes(ctx)
}

// Cut finds the newest surplus run; the zero Cut when there is none.
func (r *Store) Cut(ctx context.Context, scope schema.Scope, keep int) (Cut, error) {
	if keep <= 0 {
		return Cut{}, nil
	}
	var cut Cut
	err := r.pool.QueryRow(ctx, `
		SELECT created_at, id FROM actions WHERE parent_name IS NULL AND project = $1 AND domain = $2
		ORDER BY created_at DESC, id DESC OFFSET $3 LIMIT 1`, sqltext.Planned, scope.Project, scope.Domain, keep).Scan(&cut.CreatedAt, &cut.ID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return Cut{}, fmt.Errorf("find surplus runs: %w", err)
	}
	return cut, nil
}

const (
	// isFree: nothing of the run is live, its artifacts are registered, and no other run uses data below its directory or recovers from it. The
	// bounds are the first string that starts with the directory, and the first string after all of those: '0'
	// follows '/'.
	isFree = `NOT EXISTS (SELECT FROM actions u WHERE u.run_id = a.run_id AND u.ended_at IS NULL)
		AND NOT EXISTS (SELECT FROM produced_outputs p WHERE p.run_id = a.run_id)
		AND NOT EXISTS (SELECT FROM actions s WHERE s.project = a.project AND s.domain = a.domain AND s.relation_run = a.run_name
			AND s.relation_run <> '' AND (s.relation_type = ` + sqltext.Recovery + ` OR s.ended_at IS NULL))
		AND (a.run_output_base = '' OR (
			NOT EXISTS (SELECT FROM actions i WHERE i.parent_name IS NULL AND i.run_id <> a.id
				AND i.input_uri ~>=~ a.run_output_base AND i.input_uri ~<~ (left(a.run_output_base, -1) || '0'))
			AND NOT EXISTS (SELECT FROM actions w WHERE w.parent_name IS NULL AND w.run_id <> a.id
				AND w.run_output_base ~>=~ a.run_output_base AND w.run_output_base ~<~ (left(a.run_output_base, -1) || '0'))
			AND NOT EXISTS (SELECT FROM actions o WHERE (o.phase = ` + sqltext.Recovered + ` OR o.cache_status = ` + sqltext.CacheHit + `) AND o.run_id <> a.id
				AND o.output_uri ~>=~ a.run_output_base AND o.output_uri ~<~ (left(a.run_output_base, -1) || '0'))))`

	// isExpired has the scope in $1 and $2, the limits in $3 to $6. A run that ended before the age limit was created
	// before it.
	isExpired = `a.parent_name IS NULL AND a.project = $1 AND a.domain = $2 AND a.created_at <= greatest($3::timestamptz, $5::timestamptz)
		AND a.ended_at < $4 AND (a.ended_at < $3 OR (a.created_at, a.id) <= ($5::timestamptz, $6::bigint))`
)

func (e Expiry) arguments(scope schema.Scope, cut Cut) []any {
	return []any{sqltext.Planned, scope.Project, scope.Domain, e.EndedBefore, e.Settled, cut.CreatedAt, cut.ID}
}

// Expired reads the next runs of a scope that may be deleted, oldest first, after a given position; the zero Cut is
// before the first.
func (r *Store) Expired(ctx context.Context, scope schema.Scope, e Expiry, cut, after Cut, limit int) ([]ExpiredRun, error) {
	rows, err := r.pool.Query(ctx, `
		SELECT a.id, a.project, a.domain, a.run_name, a.run_output_base, a.created_at, a.ended_at, (a.created_at, a.id) <= ($5::timestamptz, $6::bigint)
		FROM actions a WHERE `+isExpired+` AND (a.created_at, a.id) > ($7::timestamptz, $8::bigint) AND `+r.isFree+`
		ORDER BY a.created_at, a.id LIMIT $9`, append(e.arguments(scope, cut), after.CreatedAt, after.ID, limit)...)
	if err != nil {
		return nil, fmt.Errorf("find expired runs: %w", err)
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ExpiredRun, error) {
		var found ExpiredRun
		return found, row.Scan(&found.ID, &found.Run.Project, &found.Run.Domain, &found.Run.Name, &found.OutputBase,
			&found.CreatedAt, &found.EndedAt, &found.Surplus)
	})
	if err != nil {
		return nil, fmt.Errorf("find expired runs: %w", err)
	}
	return runs, nil
}

// CountExpired counts the runs of a scope that may be deleted, and their actions.
func (r *Store) CountExpired(ctx context.Context, scope schema.Scope, e Expiry, cut Cut) (runs, actions int64, err error) {
	err = r.pool.QueryRow(ctx, `
		SELECT count(*), coalesce(sum((SELECT count(*) FROM actions c WHERE c.run_id = a.id)), 0)::bigint
		FROM actions a WHERE `+isExpired+` AND `+r.isFree, e.arguments(scope, cut)...).Scan(&runs, &actions)
	if err != nil {
		return 0, 0, fmt.Errorf("count expired runs: %w", err)
	}
	return runs, actions, nil
}
