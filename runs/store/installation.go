package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Installation reads the id of the installation to which a database belongs: twelve hexadecimal digits, made with the
// database.
func Installation(ctx context.Context, pool *pgxpool.Pool) (string, error) {
	var id string
	if err := pool.QueryRow(ctx, `SELECT id FROM installation`).Scan(&id); err != nil {
		return "", fmt.Errorf("read the id of the installation: %w", err)
	}
	return id, nil
}
