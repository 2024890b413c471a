package worklists

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// LiveReader reads the live set of the executors, the pools of workers and the connectors, the actions that are admitted and unfinished,
// and what those need of them. Built-in actions are left out.
type LiveReader struct{ pool *pgxpool.Pool }

// NewLiveReader returns a reader on a pool that the caller owns.
func NewLiveReader(pool *pgxpool.Pool) *LiveReader { return &LiveReader{pool: pool} }

const refColumns = `id, run_id, project, domain, run_name, name, cluster, placement`

// Selection is a part of the live set.
type Selection struct {
	Runner  schema.Runner
	Cluster string // empty for all
	Shard   int    // ident.AllShards for all
}

// Has reports whether an action that is live is in the selection.
func (s Selection) Has(ref schema.Ref) bool {
	return ref.Runner == s.Runner && (s.Cluster == "" || ref.Cluster == s.Cluster) && ref.Ident().Run.In(s.Shard)
}

// inShard is the condition on the shard in a parameter; see ident.Run.Shard.
func inShard(parameter string) string {
	const name = `rtrim(project, '-._') || '/' || rtrim(domain, '-._') || '/' || rtrim(run_name, '-._')`
	return fmt.Sprintf(`(%[1]s = %[2]d OR get_byte(sha256(convert_to(%[3]s, 'UTF8')), 0) %% %[4]d = %[1]s)`,
		parameter, ident.AllShards, name, ident.Shards)
}

// anyLive and liveWithRunner are the same condition, that of an action which is live. Postgres reads actions_live for the first. For the second
// with a runner in the text, it reads actions_live_elsewhere or actions_live_runner.
const (
	anyLive        = `admitted_at IS NOT NULL AND ended_at IS NULL`
	liveWithRunner = `num_nulls(ended_at) > num_nulls(admitted_at)`
	liveElsewhere  = liveWithRunner + ` AND runner IN ` + sqltext.OnCluster + ` AND cluster <> '` + ident.DefaultCluster + `'`
	liveByRunner   = liveWithRunner + ` AND runner IN (` + sqltext.Pool + `, ` + sqltext.Connector + `)`
)

// liveIn is the condition of an action that is live on a cluster, whose name is in a parameter.
func liveIn(cluster, parameter string) string {
	if cluster == ident.DefaultCluster { // actions_live_elsewhere leaves it out
		return anyLive + ` AND runner IN ` + sqltext.OnCluster + ` AND cluster = ` + parameter
	}
	return liveElsewhere + ` AND cluster = ` + parameter
}

// Live reads a page of a selection in the order (run, id), after one entry of it; the zero Ref is before the first.
func (l *LiveReader) Live(ctx context.Context, of Selection, after schema.Ref, limit int) ([]schema.Ref, error) {
	live, args := anyLive, []any{after.RunID, after.ID, limit, of.Shard, of.Runner}
	switch {
	case of.Cluster != "":
		live = liveIn(of.Cluster, "$6")
		args = append(args, of.Cluster)
	case of.Runner == schema.RunnerPool, of.Runner == schema.RunnerConnector:
		live = liveByRunner
	}
	query := `
		SELECT ` + refColumns + ` FROM actions
		WHERE ` + live + ` AND runner = $5 AND (run_id, id) > ($1, $2) AND ` + inShard("$4") + `
		ORDER BY run_id, id LIMIT $3`
	return l.refs(ctx, query, args...)
}

// LiveOfRuns reads the live actions of some runs in a selection.
func (l *LiveReader) LiveOfRuns(ctx context.Context, of Selection, runIDs []int64) ([]schema.Ref, error) {
	query := `
		SELECT ` + refColumns + ` FROM actions
		WHERE admitted_at IS NOT NULL AND ended_at IS NULL AND runner = $4 AND run_id = ANY($1) AND ($2 = '' OR cluster = $2)
			AND ` + inShard("$3")
	return l.refs(ctx, query, runIDs, of.Cluster, of.Shard, of.Runner)
}

// refs reads in the order of an index: where the planner expects few rows, it would rather read and sort a whole run.
func (l *LiveReader) refs(ctx context.Context, query string, args ...any) (refs []schema.Ref, err error) {
	var statements pgx.Batch
	statements.Queue(sqltext.Planning)
	statements.Queue(query, args...).Query(func(rows pgx.Rows) (err error) {
		refs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (schema.Ref, error) {
			var ref schema.Ref
			return ref, row.Scan(&ref.ID, &ref.RunID, &ref.Project, &ref.Domain, &ref.RunName, &ref.Name, &ref.Cluster, &ref.Placement)
		})
		return err
	})
	if err := l.pool.SendBatch(ctx, &statements).Close(); err != nil {
		return nil, fmt.Errorf("read live actions: %w", err)
	}
	return refs, nil
}

// LiveAction is a live action with what its executor needs from its row and its root's.
type LiveAction struct {
	schema.Ref
	Parent        *string
	ParentAttempt int32 // 0 for the root, and if it was not asked for
	Group         string
	TaskProject   string
	TaskDomain    string
	TaskName      string
	TaskVersion   string
	SpecDigest    []byte
	CacheKey      string
	Queue         string
	InputURI      string
	Attempt       int32
	CreatedAt     time.Time
	AdmittedAt    time.Time
	RunSpecDigest []byte
	RunOutputBase string
	RunStartTime  *time.Time
	Phase         int16
	Priority      int32
	// Ancestors are the names of the actions above it, its parent first; of the actions of pools only.
	Ancestors []string
	// Lost are the encoded events that ended the attempts before this one.
	Lost [][]byte
}

// LiveByID reads live actions; those that are not live are left out, unless they have been and ended is true. The attempt of the parent is read only if parents is true.
func (l *LiveReader) LiveByID(ctx context.Context, ids []int64, parents, ended bool) ([]LiveAction, error) {
	const query = `
		SELECT a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.parent_name,
			CASE WHEN $2 THEN coalesce((SELECT p.attempt FROM actions p WHERE p.run_id = a.run_id AND p.name = a.parent_name), 0) ELSE 0 END, a.action_group, a.task_project, a.task_domain,
			a.task_name, a.task_version, a.spec_digest, a.cache_key, a.queue, a.input_uri, a.attempt, a.created_at, a.admitted_at,
			r.run_spec_digest, r.run_output_base, r.run_start_time, a.phase, a.priority, a.cluster, a.placement,
			CASE WHEN a.runner = ` + sqltext.Pool + ` THEN ARRAY(
				WITH RECURSIVE up AS (
					SELECT p.name, p.parent_name, 1 AS steps FROM actions p WHERE p.run_id = a.run_id AND p.name = a.parent_name
					UNION ALL
					SELECT p.name, p.parent_name, up.steps + 1 FROM up JOIN actions p ON p.run_id = a.run_id AND p.name = up.parent_name
				) SELECT up.name FROM up ORDER BY up.steps
			) END,
			CASE WHEN a.attempt > 1 THEN ARRAY(
				SELECT coalesce(e.event, '') FROM action_events e WHERE e.action_id = a.id AND e.attempt < a.attempt AND e.error IS NOT NULL ORDER BY e.seq
			) END
		FROM (SELECT * FROM actions WHERE id = ANY($1) OFFSET 0) a -- apart, or the whole live set might be read for a few ids
		JOIN actions r ON r.id = a.run_id
		WHERE a.admitted_at IS NOT NULL AND (a.ended_at IS NULL OR $3) AND a.runner IN ` + sqltext.Assigned + `
		ORDER BY a.id`
	rows, err := l.pool.Query(ctx, query, sqltext.Planned, ids, parents, ended)
	if err != nil {
		return nil, fmt.Errorf("read assignments: %w", err)
	}
	actions, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (LiveAction, error) {
		var a LiveAction
		return a, row.Scan(&a.ID, &a.RunID, &a.Project, &a.Domain, &a.RunName, &a.Name, &a.Parent, &a.ParentAttempt, &a.Group, &a.TaskProject, &a.TaskDomain,
			&a.TaskName, &a.TaskVersion, &a.SpecDigest, &a.CacheKey, &a.Queue, &a.InputURI, &a.Attempt, &a.CreatedAt, &a.AdmittedAt,
			&a.RunSpecDigest, &a.RunOutputBase, &a.RunStartTime, &a.Phase, &a.Priority, &a.Cluster, &a.Placement, &a.Ancestors, &a.Lost)
	})
	if err != nil {
		return nil, fmt.Errorf("read assignments: %w", err)
	}
	return actions, nil
}

// LiveAttempt is the attempt of a live action that runs, or runs next.
type LiveAttempt struct {
	ID                             int64
	Attempt                        int32
	Project, Domain, RunName, Name string
	Cluster                        string
}

// LiveAttempts reads the attempts of actions; those of actions that are not live are left out.
func (l *LiveReader) LiveAttempts(ctx context.Context, ids []int64) ([]LiveAttempt, error) {
	const query = `
		SELECT a.id, a.attempt, a.project, a.domain, a.run_name, a.name, a.cluster FROM (SELECT * FROM actions WHERE id = ANY($1) OFFSET 0) a -- as in LiveByID
		WHERE a.admitted_at IS NOT NULL AND a.ended_at IS NULL`
	rows, err := l.pool.Query(ctx, query, sqltext.Planned, ids)
	if err != nil {
		return nil, fmt.Errorf("read live attempts: %w", err)
	}
	live, err := pgx.CollectRows(rows, pgx.RowToStructByPos[LiveAttempt])
	if err != nil {
		return nil, fmt.Errorf("read live attempts: %w", err)
	}
	return live, nil
}

// Specs reads encoded specs by digest.
func (l *LiveReader) Specs(ctx context.Context, digests [][]byte) (map[string][]byte, error) {
	rows, err := l.pool.Query(ctx, `SELECT digest, body FROM specs WHERE digest = ANY($1)`, digests)
	if err != nil {
		return nil, fmt.Errorf("read specs: %w", err)
	}
	specs := make(map[string][]byte, len(digests))
	for rows.Next() {
		var digest, body []byte
		if err := rows.Scan(&digest, &body); err != nil {
			rows.Close()
			return nil, fmt.Errorf("read specs: %w", err)
		}
		specs[string(digest)] = body
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read specs: %w", err)
	}
	return specs, nil
}

// Storage is where the data of an action is stored.
type Storage struct {
	InputURI      string
	RunOutputBase string
	Attempt       int32
	Phase         int16
	ActionType    int16
	SpecDigest    []byte
	Cluster       string
}

// NoAction is the error of an action that does not exist.
func NoAction(id ident.Action) error { return rpc.NotFound("action %s does not exist", id) }

// Storage reads where the data of an action is stored; NotFound when the action does not exist.
func (l *LiveReader) Storage(ctx context.Context, id ident.Action) (Storage, error) {
	const query = `
		SELECT a.input_uri, r.run_output_base, a.attempt, a.phase, a.action_type, a.spec_digest, a.cluster
		FROM actions r JOIN actions a ON a.run_id = r.id AND a.name = $4
		WHERE r.project = $1 AND r.domain = $2 AND r.run_name = $3 AND r.parent_name IS NULL`
	var s Storage
	err := l.pool.QueryRow(ctx, query, id.Run.Project, id.Run.Domain, id.Run.Name, id.Name).
		Scan(&s.InputURI, &s.RunOutputBase, &s.Attempt, &s.Phase, &s.ActionType, &s.SpecDigest, &s.Cluster)
	if errors.Is(err, pgx.ErrNoRows) {
		return Storage{}, NoAction(id)
	}
	if err != nil {
		return Storage{}, fmt.Errorf("read storage of %s: %w", id, err)
	}
	return s, nil
}
