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

// CacheReader reads actions that wait for the cache or whose outputs belong in it.
type CacheReader struct{ pool *pgxpool.Pool }

// NewCacheReader returns a reader on a pool that the caller owns.
func NewCacheReader(pool *pgxpool.Pool) *CacheReader { return &CacheReader{pool: pool} }

// Cacheable is an action whose outputs may come from the cache or go into it.
type Cacheable struct {
	schema.Ref
	TaskProject, TaskDomain, TaskName, TaskVersion string
	Attempt                                        int32
	CacheKey                                       string
	CacheReason                                    string
	CreatedAt                                      time.Time
	SpecDigest                                     []byte
	RunSpecDigest                                  []byte
	RunOutputBase                                  string
	Cluster                                        string
}

const cacheableColumns = `a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.task_project, a.task_domain, a.task_name, a.task_version,
	a.attempt, a.cache_key, a.cache_reason, a.created_at, a.spec_digest, r.run_spec_digest, r.run_output_base, a.cluster`

func scanCacheable(row pgx.CollectableRow) (c Cacheable, err error) {
	err = row.Scan(&c.ID, &c.RunID, &c.Project, &c.Domain, &c.RunName, &c.Name, &c.TaskProject, &c.TaskDomain, &c.TaskName, &c.TaskVersion,
		&c.Attempt, &c.CacheKey, &c.CacheReason, &c.CreatedAt, &c.SpecDigest, &c.RunSpecDigest, &c.RunOutputBase, &c.Cluster)
	return c, err
}

// Held reads a page of actions with a hold, oldest first, after a given action.
func (c *CacheReader) Held(ctx context.Context, hold schema.Hold, after int64, limit int) ([]Cacheable, error) {
	const query = `
		SELECT ` + cacheableColumns + `
		FROM (SELECT * FROM actions WHERE hold = $1 AND hold <> ` + sqltext.NoHold + ` AND ended_at IS NULL AND id > $2 ORDER BY hold, id LIMIT $3) a
		JOIN actions r ON r.id = a.run_id
		ORDER BY a.id`
	held, err := c.read(ctx, query, hold, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read held actions: %w", err)
	}
	return held, nil
}

// Publishable reads the actions whose outputs belong in the cache and that may still change.
func (c *CacheReader) Publishable(ctx context.Context, actions []ident.Action) ([]Cacheable, error) {
	const query = `
		SELECT ` + cacheableColumns + `
		FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k (project, domain, run_name, name)
		CROSS JOIN LATERAL (
			SELECT * FROM actions WHERE project = k.project AND domain = k.domain AND run_name BETWEEN k.run_name AND k.run_name
				AND parent_name IS NULL ORDER BY run_name LIMIT 1) AS r
		CROSS JOIN LATERAL (
			SELECT * FROM actions WHERE run_id = r.id AND name BETWEEN k.name AND k.name ORDER BY name LIMIT 1) AS a
		WHERE a.cache_key <> '' AND a.phase NOT IN (` + sqltext.Succeeded + `, ` + sqltext.Aborted + `, ` + sqltext.Recovered + `)`
	found, err := c.read(ctx, query,
		sqltext.Column(actions, func(a ident.Action) string { return a.Run.Project }), sqltext.Column(actions, func(a ident.Action) string { return a.Run.Domain }),
		sqltext.Column(actions, func(a ident.Action) string { return a.Run.Name }), sqltext.Column(actions, func(a ident.Action) string { return a.Name }))
	if err != nil {
		return nil, fmt.Errorf("read cacheable actions: %w", err)
	}
	return found, nil
}

func (c *CacheReader) read(ctx context.Context, query string, args ...any) (found []Cacheable, err error) {
	var statements pgx.Batch // one transaction, whose statements must use the indexes
	statements.Queue(sqltext.Planning)
	statements.Queue(query, args...).Query(func(rows pgx.Rows) (err error) {
		found, err = pgx.CollectRows(rows, scanCacheable)
		return err
	})
	return found, c.pool.SendBatch(ctx, &statements).Close()
}
