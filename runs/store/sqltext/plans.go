package sqltext

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The two settings of a transaction that leave the planner nothing but loops over indexes (batch_load.go says why). With
// planning, each statement is planned again. With keptPlanning, which is the writer's, a connection keeps its plans.
//
// Planning costs Postgres more than running a small batch does, since actions has 37 indexes. But a plan that was made when
// the table was small may read whole runs when it has grown, so the writer renews its plans: see keptPlans.
const (
	Planning     = loopsOnly + ` UNION ALL SELECT set_config('plan_cache_mode', 'force_custom_plan', true)`
	KeptPlanning = loopsOnly + ` UNION ALL SELECT set_config('plan_cache_mode', 'force_generic_plan', true)`

	loopsOnly = `SELECT set_config(name, 'off', true) FROM unnest(ARRAY[
		'enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin', 'enable_sort',
		'enable_incremental_sort', 'jit']) AS name`
)

// Planned forces a new plan for every execution of a list: a plan for one phase or task can be a thousand times too
// slow for another. The parameter types are cached, so a list still takes one round trip.
const Planned = pgx.QueryExecModeCacheDescribe

// WithPlan puts planned before the parameters of a statement.
func WithPlan(args []any) []any { return append([]any{Planned}, args...) }

// Snapshot runs fn in a transaction with a consistent snapshot of the database.
func Snapshot(ctx context.Context, pool *pgxpool.Pool, fn func(pgx.Tx) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, pool, options, fn)
}

// InOrder makes the statements of a transaction read indexes in their order: the planner would fetch and sort all rows of a range where
// it underestimates how many match.
func InOrder(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `SELECT set_config(name, 'off', true) FROM unnest(ARRAY['enable_bitmapscan', 'enable_seqscan', 'jit']) AS name`)
	return err
}
