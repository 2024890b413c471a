package pgdb_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

func TestQuietConnectionStaysUsable(t *testing.T) {
	pool := pgtest.Empty(t)
	conn, err := pgx.Connect(t.Context(), pgtest.URL(pool))
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), "LISTEN c")
	require.NoError(t, err)
	for range 3 {
		heard, err := pgdb.Wait(t.Context(), conn, time.Millisecond)
		require.NoError(t, err)
		require.Nil(t, heard)
	}
	_, err = pool.Exec(t.Context(), "NOTIFY c, 'x'")
	require.NoError(t, err)
	heard, err := pgdb.Wait(t.Context(), conn, time.Minute)
	require.NoError(t, err)
	require.Equal(t, "x", heard.Payload)
}
