package storetest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// CPU is the processor time that this process and the Postgres processes of a database have used so far.
type CPU struct{ Server, Postgres time.Duration }

// CPUOf reads the processor times. That of Postgres counts the connections that are open now, and is zero where the kernel
// does not say it for other processes.
func CPUOf(t testing.TB, pool *pgxpool.Pool) CPU {
	t.Helper()
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	now := CPU{Server: time.Duration(used.Utime.Nano() + used.Stime.Nano())}
	rows, err := pool.Query(t.Context(), `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`)
	require.NoError(t, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			continue // it has ended, or this is not Linux
		}
		first, _, _ := bytes.Cut(stat, []byte(" "))
		ran, err := strconv.ParseInt(string(first), 10, 64)
		require.NoError(t, err)
		now.Postgres += time.Duration(ran)
	}
	return now
}
