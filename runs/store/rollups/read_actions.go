package rollups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Place is where a list of the ended actions of a task continues: after an action.
type Place struct {
	Ended time.Time
	ID    int64
}

// TaskAction is an ended action of a task.
type TaskAction struct {
	schema.Action
	RootTask string
}

// maxLooked is how many actions a page of a filtered list looks at.
const maxLooked = 2000

// TaskActions are which actions of a task to read.
type TaskActions struct {
	Task
	Version string  // empty for all
	Phases  []int16 // empty for all
	// Cached asks for those that use the cache.
	Cached bool
	After  *Place // nil for the latest
	Limit  int
}

// ReadActions reads ended actions of a task, the latest first. It looks at a limited number of actions: more is where to continue, nil at
// the end.
func (s *Store) ReadActions(ctx context.Context, want TaskActions) (found []TaskAction, more *Place, err error) {
	if !listquery.Sees(ctx, want.Project, want.Domain) {
		return nil, nil, nil
	}
	after := Place{Ended: time.Unix(1<<40, 0)}
	if want.After != nil {
		after = *want.After
	}
	if want.Phases == nil {
		want.Phases = []int16{}
	}
	look := want.Limit
	if want.Version != "" || len(want.Phases) > 0 || want.Cached {
		look = maxLooked
	}
	// The rows of those that match are read afterwards.
	rows, err := s.pool.Query(ctx, `
		WITH looked AS MATERIALIZED (
			SELECT a.ended_at, a.task_version, a.phase, a.cache_status, a.id FROM actions a
			WHERE a.action_type = `+sqltext.Task+` AND a.ended_at IS NOT NULL AND a.task_project = $1 AND a.task_domain = $2 AND a.task_name = $3
				AND a.ended_at <= $4 AND (a.ended_at < $4 OR a.id < $5)
			ORDER BY a.ended_at DESC, a.id DESC LIMIT $6)
		SELECT l.id, l.ended_at, ($7 = '' OR l.task_version = $7) AND (cardinality($8::smallint[]) = 0 OR l.phase = ANY($8))
			AND (NOT $9 OR l.cache_status <> `+sqltext.NoCache+`)
		FROM looked l ORDER BY l.ended_at DESC, l.id DESC`,
		sqltext.Planned, want.Project, want.Domain, want.Name, after.Ended, after.ID, look, want.Version, want.Phases, want.Cached)
	if err != nil {
		return nil, nil, fmt.Errorf("read actions of task %s: %w", want.Name, err)
	}
	var ids []int64
	var at Place
	var matches bool
	looked := 0
	full := false
	_, err = pgx.ForEachRow(rows, []any{&at.ID, &at.Ended, &matches}, func() error {
		if full {
			return nil
		}
		looked++
		if matches {
			ids = append(ids, at.ID)
		}
		if full = len(ids) >= want.Limit || looked >= look; full {
			place := at
			more = &place
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read actions of task %s: %w", want.Name, err)
	}
	found, err = s.actions(ctx, ids)
	return found, more, err
}

// actions reads actions by id, in the order in which they ended, the latest first.
func (s *Store) actions(ctx context.Context, ids []int64) ([]TaskAction, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT a.id, a.project, a.domain, a.run_name, a.name, a.task_version, a.phase, a.attempt, a.cache_status, a.cache_reason, a.cache_key,
			a.started_at, a.ended_at, a.spec_digest, a.input_uri, r.task_name
		FROM actions a JOIN actions r ON r.id = a.run_id WHERE a.id = ANY($1) ORDER BY a.ended_at DESC, a.id DESC`, ids)
	if err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a TaskAction, err error) {
		return a, row.Scan(&a.ID, &a.Project, &a.Domain, &a.RunName, &a.Name, &a.TaskVersion, &a.Phase, &a.Attempt, &a.CacheStatus, &a.CacheReason, &a.CacheKey,
			&a.StartedAt, &a.EndedAt, &a.SpecDigest, &a.InputURI, &a.RootTask)
	})
	if err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	return found, nil
}

// CachedKey reads the key of an action of a task in the cache; NotFound if it does not exist or has none.
func (s *Store) CachedKey(ctx context.Context, task Task, action ident.Action) (key string, err error) {
	err = s.pool.QueryRow(ctx, `
		SELECT a.cache_key FROM actions r JOIN actions a ON a.run_id = r.id AND a.name = $4
		WHERE r.project = $1 AND r.domain = $2 AND r.run_name = $3 AND r.parent_name IS NULL AND a.task_name = $5`,
		action.Run.Project, action.Run.Domain, action.Run.Name, action.Name, task.Name).Scan(&key)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", rpc.NotFound("there is no action %s of task %s", action, task.Name)
	case err != nil:
		return "", fmt.Errorf("read the cache key of action %s: %w", action, err)
	case key == "":
		return "", rpc.NotFound("action %s does not use the cache", action)
	}
	return key, nil
}
