package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Installation reads the id of the installation that owns a database: twelve hexadecimal digits, generated when the
// database was created.
func Installation(ctx context.Context, pool *pgxpool.Pool) (string, error) {
	var id string
	if err := pool.QueryRow(ctx, `SELECT id FROM installation`).Scan(&id); err != nil {
		return "", fmt.Errorf("read the id of the installation: %w", err)
	}
	return id, nil
}
