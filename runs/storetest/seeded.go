package storetest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// SeedScale divides the row counts of DefaultConfig; FLYTE_BENCH_SCALE=1 gives the full million.
func SeedScale(tb testing.TB, standard int) int {
	text := os.Getenv("FLYTE_BENCH_SCALE")
	if text == "" {
		return standard
	}
	scale, err := strconv.Atoi(text)
	require.NoError(tb, err)
	return scale
}

// Seeded returns a database with the rows of DefaultConfig, divided by scale. Tests of the same scale share what
// was filled.
func Seeded(tb testing.TB, scale int) (*pgxpool.Pool, Config) {
	tb.Helper()
	return SeededWith(tb, scale, "lists")
}

// SeededWith is Seeded with more statements, which the name represents.
func SeededWith(tb testing.TB, scale int, name string, statements ...string) (*pgxpool.Pool, Config) {
	tb.Helper()
	config := DefaultConfig()
	config.Runs /= scale
	config.Wide /= scale
	if os.Getenv("FLYTE_BENCH_ROOTS") != "" { // all rows are runs of one action
		config.Runs, config.Children, config.Wide = config.Runs*(1+config.Children), 0, 1
	}
	return pgtest.Filled(tb, store.Migrations(), fmt.Sprintf("%s_%d", name, scale), func(ctx context.Context, pool *pgxpool.Pool) error {
		if err := Fill(ctx, pool, config); err != nil {
			return err
		}
		return Exec(ctx, pool, statements...)
	}), config
}
