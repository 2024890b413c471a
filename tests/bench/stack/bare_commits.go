package stack

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// rowBytes is what an action's change of phase writes, about: its row and its event.
const rowBytes = 500

// BareCommits is what Postgres does without the server: callers that each insert a row and commit. It returns the commits a second.
func (s *Stack) BareCommits(ctx context.Context, n, callers int) (float64, error) {
	config, err := pgxpool.ParseConfig(s.Postgres.DSN())
	if err != nil {
		return 0, err
	}
	config.MaxConns = int32(callers)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE TABLE IF NOT EXISTS bench_bare (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz, content bytea)"); err != nil {
		return 0, err
	}
	content := make([]byte, rowBytes)
	insert := func(int) error {
		_, err := pool.Exec(ctx, "INSERT INTO bench_bare (at, content) VALUES (now(), $1)", content)
		return err
	}
	index := func(i int) int { return i }
	if _, err := Each(callers, callers, index, insert); err != nil { // opens the connections
		return 0, err
	}
	began := time.Now()
	if _, err := Each(n, callers, index, insert); err != nil {
		return 0, err
	}
	return float64(n) / time.Since(began).Seconds(), nil
}
