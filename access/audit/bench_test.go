package audit_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// BenchmarkRecordedChange measures what a change outside Postgres waits for its record, alone and with others at the same time.
func BenchmarkRecordedChange(b *testing.B) {
	s := store.New(pgtest.Schemas(b, store.Schema()), clock.System{})
	recorder := audit.NewRecorder(s, false, clock.System{}, zerolog.Nop())
	require.NoError(b, recorder.Start(b.Context()))
	b.Cleanup(func() { require.NoError(b, recorder.Stop(context.WithoutCancel(b.Context()))) })
	rule, _ := authz.RuleOf(hide)
	entry := authz.Entry{Request: authz.Request{Procedure: hide, Header: http.Header{}}, Rule: rule, Resources: []authz.Resource{{Kind: "run", Project: "p", Domain: "d", Name: "r"}}}
	ctx := authz.WithIdentity(b.Context(), authz.Identity{Kind: authz.User, Subject: "ada"})
	call := func() {
		_, end, err := recorder.Begin(ctx, entry)
		if err == nil {
			end(authz.Succeeded, nil)
		}
	}
	b.Run("alone", func(b *testing.B) {
		for b.Loop() {
			call()
		}
	})
	b.Run("64 at once", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				call()
			}
		})
	})
}

// changesMeasured is how many changes BenchmarkRecordInATransaction makes at a time.
const changesMeasured = 960

// BenchmarkRecordInATransaction measures what the record of a change costs Postgres more in the transaction of the change than after it, as
// where access is open, up to its end in the chain: the processor time of its process, and the bytes that it writes ahead. Neither depends
// much on what else the machine does. One iteration is 960 changes each way, of one or of 32 calls in a transaction.
func BenchmarkRecordInATransaction(b *testing.B) {
	config, err := pgxpool.ParseConfig(pgtest.URL(pgtest.Schemas(b, store.Schema())))
	require.NoError(b, err)
	config.MaxConns = 1 // one process of Postgres does all
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	require.NoError(b, err)
	b.Cleanup(pool.Close)
	s := store.New(pool, clock.System{})
	for _, calls := range []int{1, 32} {
		b.Run(fmt.Sprint(calls, " in a transaction"), func(b *testing.B) {
			var after, within usage
			for b.Loop() {
				after = after.plus(usedBy(b, pool, func() { recordAfter(b, s, pool, calls) }))
				within = within.plus(usedBy(b, pool, func() { recordWithin(b, s, pool, calls) }))
			}
			records := float64(b.N * changesMeasured)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(within.cpu-after.cpu)/records/1000, "µs-of-Postgres/record")
			b.ReportMetric(float64(within.wal-after.wal)/records, "WAL-bytes/record")
		})
	}
}

// recordAfter makes changes, and adds their records to the chain.
func recordAfter(b *testing.B, s *store.Store, pool *pgxpool.Pool, calls int) {
	b.Helper()
	ends := make([]store.AuditEnd, changesMeasured)
	for i := range ends {
		ends[i].Event = createdRun
	}
	for range changesMeasured / calls {
		change(b, pool, func(*pgx.Batch) {})
	}
	require.NoError(b, s.AppendAudit(b.Context(), ends, audit.Seal))
}

// recordWithin makes changes with their records, and adds these to the chain.
func recordWithin(b *testing.B, s *store.Store, pool *pgxpool.Pool, calls int) {
	b.Helper()
	var ends []store.AuditEnd
	for range changesMeasured / calls {
		change(b, pool, func(statements *pgx.Batch) {
			for range calls {
				ends = append(ends, store.AuditEnd{ID: store.NewAuditID(time.Now()), Event: createdRun})
			}
			require.NoError(b, s.QueueAudit(statements, ends[len(ends)-calls:]))
		})
	}
	require.NoError(b, s.AppendAudit(b.Context(), ends, audit.Seal))
}

// change makes a change in a transaction.
func change(b *testing.B, pool *pgxpool.Pool, record func(*pgx.Batch)) {
	b.Helper()
	var statements pgx.Batch
	statements.Queue(`BEGIN`)
	statements.Queue(`UPDATE access_policy SET version = version + 1`)
	record(&statements)
	statements.Queue(`COMMIT`)
	require.NoError(b, pool.SendBatch(b.Context(), &statements).Close())
}

// createdRun is the event of a call as clients make it.
var createdRun = store.AuditEvent{
	At: time.Now(), Kind: "user", Subject: "ada@example.com", Credential: "session-3kq7", Peer: "10.0.0.7", Procedure: create, Permission: "run.create",
	Resources: []string{"run mine/development/r7x2v9"}, Project: "mine", Domain: "development", Outcome: "succeeded",
	RequestID: "4c1f8c0e", UserAgent: "connect-go/1.19.1 (go1.25.4)",
}

// usage is what a process of Postgres has used: nanoseconds of the processor, and bytes written ahead.
type usage struct{ cpu, wal int64 }

func (u usage) plus(v usage) usage { return usage{u.cpu + v.cpu, u.wal + v.wal} }

// usedBy is what the process of the pool's only connection uses for work.
func usedBy(b *testing.B, pool *pgxpool.Pool, work func()) usage {
	b.Helper()
	read := func() (used usage) {
		var pid int
		require.NoError(b, pool.QueryRow(b.Context(), `SELECT pg_backend_pid(), (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&pid, &used.wal))
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		require.NoError(b, err)
		_, err = fmt.Sscan(string(text), &used.cpu)
		require.NoError(b, err)
		return used
	}
	before := read()
	work()
	after := read()
	return usage{after.cpu - before.cpu, after.wal - before.wal}
}
