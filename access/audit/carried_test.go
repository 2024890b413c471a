package audit_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/store"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// writes makes the changes of calls in one transaction, which carries their records, or fails.
func writes(t *testing.T, pool *pgxpool.Pool, recorder *audit.Recorder, statement string, calls ...context.Context) error {
	t.Helper()
	var statements pgx.Batch
	statements.Queue("BEGIN")
	statements.Queue(statement)
	require.NoError(t, recorder.Queue(&statements, calls))
	statements.Queue("COMMIT")
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	if err := conn.SendBatch(t.Context(), &statements).Close(); err != nil {
		_, rollback := conn.Exec(t.Context(), "ROLLBACK")
		require.NoError(t, rollback)
		return err
	}
	return nil
}

// TestTheTransactionOfAChangeCarriesItsRecord: the record is there when the change is, and a change that failed has only its end.
func TestTheTransactionOfAChangeCarriesItsRecord(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	s := store.New(pool, clock.System{})
	recorder := audit.NewRecorder(s, false, clock.System{}, zerolog.Nop())
	require.NoError(t, recorder.Start(t.Context()))
	begin := func(run string) (context.Context, func(authz.Outcome, error)) {
		handled, end, err := recorder.Begin(as(t, "ada"), call(t, create, run))
		require.NoError(t, err)
		require.NotNil(t, end)
		return handled, end
	}
	made := func() (names []string) {
		rows, err := pool.Query(t.Context(), `SELECT event::json->'Resources'->>0 FROM access_audit_made ORDER BY 1`)
		require.NoError(t, err)
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return names
	}
	one, endOne := begin("one")
	two, endTwo := begin("two")
	failing, endFailing := begin("failing")
	_, endUnchanged := begin("unchanged")
	abandoned, endAbandoned := begin("abandoned")
	repeated, endRepeated := begin("repeated")
	require.Empty(t, made(), "nothing is written before the change")

	require.Error(t, writes(t, pool, recorder, "SELECT 1/0", failing, one))
	require.Empty(t, made(), "the change was not made")
	require.NoError(t, writes(t, pool, recorder, "SELECT 1", one, t.Context(), two))
	require.Equal(t, []string{"run p/d/one", "run p/d/two"}, made())
	recorder.Committed([]context.Context{one, t.Context(), two})
	require.NoError(t, writes(t, pool, recorder, "SELECT 1", one), "a second operation of the call")
	endOne(authz.Succeeded, nil)
	endTwo(authz.Failed, rpc.Unavailable(nil, "the client has gone"))
	endFailing(authz.Failed, rpc.NotFound("no such task"))
	endUnchanged(authz.Succeeded, nil)
	// The connection is lost during the commit: the writer repeats the operation, which finds the change made.
	require.NoError(t, writes(t, pool, recorder, "SELECT 1", repeated))
	endRepeated(authz.Succeeded, nil)
	// The client does not wait for the commit, which comes later.
	endAbandoned(authz.Failed, rpc.Unavailable(nil, "timed out while storing the change"))
	require.NoError(t, writes(t, pool, recorder, "SELECT 1", abandoned))
	recorder.Committed([]context.Context{abandoned})
	require.NoError(t, recorder.Stop(t.Context()))

	events, err := s.SearchAudit(t.Context(), store.AuditFilter{OldestFirst: true, Limit: 100})
	require.NoError(t, err)
	var texts []string
	for _, event := range events {
		texts = append(texts, event.Resources[0]+" "+event.Outcome)
	}
	require.ElementsMatch(t, []string{
		"run p/d/one succeeded", "run p/d/two succeeded", "run p/d/two failed", "run p/d/failing failed", "run p/d/unchanged succeeded", "run p/d/repeated succeeded",
		"run p/d/abandoned failed", "run p/d/abandoned succeeded", // the answer that the client got, and what was done
	}, texts)
	require.Empty(t, made(), "all are part of the chain")
}

// TestRecordsOfADeadProcessBecomePartOfTheChain: the process dies between the commit and the chain.
func TestRecordsOfADeadProcessBecomePartOfTheChain(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	s := store.New(pool, clock.System{})
	recorder := audit.NewRecorder(s, false, clock.System{}, zerolog.Nop())
	made, _, err := recorder.Begin(as(t, "ada"), call(t, create, "one"))
	require.NoError(t, err)
	require.NoError(t, writes(t, pool, recorder, "SELECT 1", made))

	later := clock.NewFake(time.Now().Add(2 * time.Minute))
	page, err := (&audit.Handler{Store: s, Clock: later}).SearchAudit(t.Context(), &accessv1.SearchAuditRequest{})
	require.NoError(t, err)
	require.Empty(t, page.GetUnfinished(), "it is known to have been made")
	lost := store.LostAudit{Made: time.Now().Add(-time.Minute), End: store.AuditEvent{Outcome: "unknown"}}
	ended, err := s.EndLostAudit(t.Context(), lost, 10, audit.Seal)
	require.NoError(t, err)
	require.Zero(t, ended, "its process may do it")
	lost.Made = later.Now()
	ended, err = s.EndLostAudit(t.Context(), lost, 10, audit.Seal)
	require.NoError(t, err)
	require.Equal(t, 1, ended)
	require.Equal(t, []string{"ada run.create succeeded"}, found(t, s, store.AuditFilter{}))
	verified, err := audit.Verify(t.Context(), s)
	require.NoError(t, err)
	require.Empty(t, verified.Problem)

	recorder.Committed([]context.Context{made}) // the process was only slow
	require.NoError(t, recorder.Start(t.Context()))
	require.NoError(t, recorder.Stop(t.Context()))
	require.Len(t, found(t, s, store.AuditFilter{}), 1, "it is recorded once")
}

// TestRecordsOfEarlierVersionsBecomePartOfTheChain: a process of a version before access_audit_made dies between the commit and the chain.
func TestRecordsOfEarlierVersionsBecomePartOfTheChain(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	s := store.New(pool, clock.System{})
	_, err := pool.Exec(t.Context(), `INSERT INTO access_audit_open (id, begun, event) VALUES
		('MADE', now(), '{"At": "2026-01-02T03:04:05Z", "Kind": "user", "Subject": "ada", "Permission": "run.create", "Resources": ["run p/d/one"], "Error": "", "Outcome": "succeeded"}'),
		('BEGUN', now(), '{"At": "2026-01-02T03:04:05Z", "Kind": "user", "Subject": "ada", "Permission": "secret.create", "Resources": null, "Error": "", "Outcome": "unknown"}')`)
	require.NoError(t, err)
	lost := store.LostAudit{Made: time.Now().Add(time.Minute), Begun: time.Now().Add(-time.Minute), End: store.AuditEvent{Outcome: "unknown", Error: "its process died"}}
	ended, err := s.EndLostAudit(t.Context(), lost, 10, audit.Seal)
	require.NoError(t, err)
	require.Equal(t, 1, ended, "the other may still end")
	lost.Begun = time.Now().Add(time.Minute)
	ended, err = s.EndLostAudit(t.Context(), lost, 10, audit.Seal)
	require.NoError(t, err)
	require.Equal(t, 1, ended)
	require.Equal(t, []string{"ada run.create succeeded", "ada secret.create unknown"}, found(t, s, store.AuditFilter{}))
	verified, err := audit.Verify(t.Context(), s)
	require.NoError(t, err)
	require.Empty(t, verified.Problem)
}
