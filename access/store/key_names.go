package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// KeyNames are the names of keys by their ids. Keys that do not exist are left out.
func (s *Store) KeyNames(ctx context.Context, ids []string) (map[string]string, error) {
	names := map[string]string{}
	if len(ids) == 0 {
		return names, nil
	}
	rows, err := s.pool.Query(ctx, `SELECT id, name FROM access_keys WHERE id = ANY($1)`, ids)
	if err != nil {
		return nil, fmt.Errorf("read names of keys: %w", err)
	}
	var id, name string
	if _, err := pgx.ForEachRow(rows, []any{&id, &name}, func() error { names[id] = name; return nil }); err != nil {
		return nil, fmt.Errorf("read names of keys: %w", err)
	}
	return names, nil
}
