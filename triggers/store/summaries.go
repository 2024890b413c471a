package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Named reads triggers of a project and domain by the names of their tasks and their own; those that do not exist are left out.
func (s *Store) Named(ctx context.Context, project, domain string, tasks, names []string) ([]Trigger, error) {
	rows, err := s.pool.Query(ctx, `SELECT `+triggerColumns+` FROM unnest($3::text[], $4::text[]) AS k (task_name, name)
		JOIN triggers t ON t.project = $1 AND t.domain = $2 AND t.task_name = k.task_name AND t.name = k.name
		WHERE t.deleted_at IS NULL`, project, domain, tasks, names)
	if err != nil {
		return nil, fmt.Errorf("read triggers: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Trigger, error) {
		var t Trigger
		return t, row.Scan(t.targets()...)
	})
	if err != nil {
		return nil, fmt.Errorf("read triggers: %w", err)
	}
	return found, nil
}

// Latest reads the newest slots of each of some triggers, newest first.
func (s *Store) Latest(ctx context.Context, triggers []int64, each int) (map[int64][]Fire, error) {
	all, err := s.fires(ctx, `SELECT `+fireColumns+` FROM unnest($1::bigint[]) AS i (id), LATERAL (
		SELECT * FROM trigger_fires WHERE trigger_id = i.id ORDER BY slot DESC, cause DESC LIMIT $2) f
		ORDER BY f.trigger_id, f.slot DESC, f.cause DESC`, noNil(triggers), each)
	if err != nil {
		return nil, err
	}
	latest := map[int64][]Fire{}
	for _, fire := range all {
		latest[fire.TriggerID] = append(latest[fire.TriggerID], fire)
	}
	return latest, nil
}
