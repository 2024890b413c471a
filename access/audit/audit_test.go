package audit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

// as is the context of a call of a person.
func as(t *testing.T, name string) context.Context {
	return authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.User, Subject: name, Credential: "session"})
}

// call is a call of a procedure about a run.
func call(t *testing.T, procedure, run string) authz.Entry {
	t.Helper()
	rule, ok := authz.RuleOf(procedure)
	require.True(t, ok)
	return authz.Entry{
		Request: authz.Request{Procedure: procedure, Peer: "10.0.0.7:1234", Header: http.Header{"X-Request-Id": {"id\x00" + run}}},
		Rule:    rule, Resources: []authz.Resource{{Kind: "run", Project: "p", Domain: "d", Name: run}},
	}
}

const (
	create = "/flyteidl2.workflow.RunService/CreateRun"
	view   = "/flyteidl2.workflow.RunService/GetRunDetails"
)

// started returns a store and a recorder that has started.
func started(t *testing.T) (*store.Store, *audit.Recorder, func()) {
	t.Helper()
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	recorder := audit.NewRecorder(s, clock.System{}, zerolog.Nop())
	require.NoError(t, recorder.Start(t.Context()))
	stop := sync.OnceFunc(func() { require.NoError(t, recorder.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(stop)
	return s, recorder, stop
}

// found are the events of a search, oldest first, each with its subject, its permission and its outcome.
func found(t *testing.T, s *store.Store, filter store.AuditFilter) (texts []string) {
	t.Helper()
	filter.Limit = 10_000
	events, err := s.SearchAudit(t.Context(), filter)
	require.NoError(t, err)
	for i := len(events) - 1; i >= 0; i-- {
		texts = append(texts, events[i].Subject+" "+events[i].Permission+" "+events[i].Outcome)
	}
	return texts
}

func TestChangesAreDurableBeforeTheyAreMade(t *testing.T) {
	s, recorder, stop := started(t)
	end, err := recorder.Begin(as(t, "ada"), call(t, create, "r1"))
	require.NoError(t, err)
	_, err = recorder.Begin(as(t, "ada"), call(t, create, "lost"))
	require.NoError(t, err)
	require.Empty(t, found(t, s, store.AuditFilter{}), "not before they end")
	end(authz.Failed, rpc.NotFound("no such task"))
	stop()
	require.Equal(t, []string{"ada run.create failed"}, found(t, s, store.AuditFilter{}))

	lost, err := s.EndLostAudit(t.Context(), time.Now().Add(-time.Minute), "unknown", 10, audit.Seal)
	require.NoError(t, err)
	require.Zero(t, lost, "it is not old enough")
	lost, err = s.EndLostAudit(t.Context(), time.Now().Add(time.Minute), "unknown", 10, audit.Seal)
	require.NoError(t, err)
	require.Equal(t, 1, lost, "its process died")
	require.Equal(t, []string{"ada run.create failed", "ada run.create unknown"}, found(t, s, store.AuditFilter{}))

	events, err := s.SearchAudit(t.Context(), store.AuditFilter{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"run p/d/lost"}, events[0].Resources)
	require.Equal(t, "10.0.0.7", events[0].Peer)
	require.Equal(t, "id?lost", events[0].RequestID)
	require.Equal(t, "session", events[0].Credential)
}

// waits remembers which beginnings must be on disk.
type waits struct {
	broken
	wait []bool
}

func (w *waits) BeginAudit(_ context.Context, _ []store.AuditEnd, wait bool) error {
	w.wait = append(w.wait, wait)
	return nil
}

func TestChangesOutsideOfTheDatabaseWaitForTheDisk(t *testing.T) {
	w := &waits{}
	recorder := audit.NewRecorder(w, clock.System{}, zerolog.Nop())
	require.NoError(t, recorder.Start(t.Context()))
	for _, procedure := range []string{create, "/flyteidl2.secret.SecretService/CreateSecret"} {
		_, err := recorder.Begin(as(t, "ada"), call(t, procedure, "r1"))
		require.NoError(t, err)
	}
	require.NoError(t, recorder.Stop(t.Context()))
	require.Equal(t, []bool{false, true}, w.wait)
}

// broken is a store that is unavailable.
type broken struct{}

func (broken) BeginAudit(context.Context, []store.AuditEnd, bool) error {
	return errors.New("no database")
}
func (broken) AppendAudit(context.Context, []store.AuditEnd, store.Seal) error {
	return errors.New("no database")
}

func TestAChangeThatCannotBeRecordedIsNotMade(t *testing.T) {
	recorder := audit.NewRecorder(broken{}, clock.System{}, zerolog.Nop())
	require.NoError(t, recorder.Start(t.Context()))
	_, err := recorder.Begin(as(t, "ada"), call(t, create, "r1"))
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(err))
	end, err := recorder.Begin(as(t, "ada"), call(t, view, "r1"))
	require.NoError(t, err)
	require.Nil(t, end, "what only reads is not recorded before")
	require.NoError(t, recorder.Stop(t.Context()))
}

func TestWhatIsRecorded(t *testing.T) {
	s, recorder, stop := started(t)
	record := func(ctx context.Context, entry authz.Entry, outcome authz.Outcome) {
		entry.Outcome = outcome
		recorder.Record(ctx, entry)
	}
	task := authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.Task, Subject: "a0"})
	stranger := call(t, view, "r1")
	record(t.Context(), stranger, authz.Refused)               // sent no credential: every client begins so
	record(as(t, "ada"), call(t, view, "r1"), authz.Succeeded) // only reads
	record(task, call(t, create, "r1"), authz.Succeeded)       // the history of the run has it
	record(task, call(t, create, "r1"), authz.Refused)
	record(as(t, "ada"), call(t, view, "r1"), authz.Refused)
	record(as(t, "ada"), call(t, "/flyteidl2.secret.SecretService/GetSecret", ""), authz.Succeeded)
	record(as(t, "ada"), call(t, "/flyteidl2.dataproxy.DataProxyService/CreateDownloadLink", ""), authz.Succeeded)
	record(as(t, "ada"), call(t, "/flytebinary.insight.v1.FileService/CreateFileLink", ""), authz.Succeeded)
	record(as(t, "ada"), call(t, "/flyteidl2.dataproxy.DataProxyService/GetActionData", ""), authz.Succeeded)
	stranger.Request.Header.Set("Authorization", "Bearer stolen")
	for range 100 {
		record(t.Context(), stranger, authz.Refused)
	}
	stop()
	require.Equal(t, []string{
		"a0 run.create refused", "ada run.view refused", "ada secret.view succeeded", "ada data.view succeeded", "ada data.view succeeded",
	}, found(t, s, store.AuditFilter{})[:5])
	strangers := found(t, s, store.AuditFilter{Permission: "run.view", Outcome: "refused"})
	require.Less(t, len(strangers), 61, "a flood is cut")
	lost := found(t, s, store.AuditFilter{Subject: "audit"})
	require.Len(t, lost, 1, "and counted")
	require.Len(t, found(t, s, store.AuditFilter{Project: "p", Subject: "ada"}), 4)
	require.Empty(t, found(t, s, store.AuditFilter{Project: "q"}))
}

func TestAChangedOrRemovedEventShows(t *testing.T) {
	for name, c := range map[string]struct {
		damage string
		at     int64
		words  string
	}{
		"nothing":    {`SELECT 1`, 0, ""},
		"changed":    {`UPDATE access_audit SET subject = 'bob' WHERE sequence = 7`, 7, "event 7 was changed"},
		"moved":      {`UPDATE access_audit SET subject = '', credential = subject || credential WHERE sequence = 7`, 7, "event 7 was changed"},
		"removed":    {`DELETE FROM access_audit WHERE sequence = 5`, 5, "event 5 is missing"},
		"first":      {`DELETE FROM access_audit WHERE sequence = 1`, 1, "event 1 is missing"},
		"last":       {`DELETE FROM access_audit WHERE sequence = 10`, 10, "event 10 is missing"},
		"all":        {`DELETE FROM access_audit`, 1, "event 1 is missing"},
		"exchanged":  {`UPDATE access_audit SET sequence = CASE sequence WHEN 3 THEN -4 ELSE -3 END WHERE sequence IN (3, 4); UPDATE access_audit SET sequence = -sequence WHERE sequence < 0`, 3, "event 3 was changed"},
		"smuggled":   {`INSERT INTO access_audit SELECT 11, at, kind, subject, credential, peer, procedure, permission, resources, project, domain, outcome, error, request_id, hash FROM access_audit WHERE sequence = 10`, 11, "event 11 was changed"},
		"end forged": {`UPDATE access_audit_chain SET last = 8`, 11, "the chain ends at 8"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := pgtest.Schemas(t, store.Schema())
			s := store.New(pool, clock.System{})
			var ends []store.AuditEnd
			for i := range 10 {
				ends = append(ends, store.AuditEnd{Event: store.AuditEvent{
					At: clock.System{}.Now(), Kind: "user", Subject: "ada", Procedure: create, Resources: []string{fmt.Sprint("run p/d/r", i)}, Outcome: "succeeded",
				}})
			}
			require.NoError(t, s.AppendAudit(t.Context(), ends[:4], audit.Seal))
			require.NoError(t, s.AppendAudit(t.Context(), ends[4:], audit.Seal))
			_, err := pool.Exec(t.Context(), c.damage)
			require.NoError(t, err)
			result, err := audit.Verify(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, c.at, result.BrokenAt, result.Problem)
			require.Contains(t, result.Problem, c.words)
		})
	}
}

func TestRetentionKeepsTheChain(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	now := clock.System{}.Now()
	for i := range 30 {
		event := store.AuditEvent{At: now.Add(time.Duration(i-30) * time.Hour), Kind: "user", Subject: fmt.Sprint(i), Procedure: create}
		require.NoError(t, s.AppendAudit(t.Context(), []store.AuditEnd{{Event: event}}, audit.Seal))
	}
	for _, want := range []int{10, 10, 5, 0} {
		removed, err := s.TrimAudit(t.Context(), now.Add(-5*time.Hour), 10)
		require.NoError(t, err)
		require.Equal(t, want, removed)
	}
	require.Len(t, found(t, s, store.AuditFilter{}), 5)
	result, err := audit.Verify(t.Context(), s)
	require.NoError(t, err)
	require.Empty(t, result.Problem)
	require.EqualValues(t, 5, result.Checked)
}

// TestReplicasShareTheChain writes from several recorders at once.
func TestReplicasShareTheChain(t *testing.T) {
	s, one, stop := started(t)
	two := audit.NewRecorder(s, clock.System{}, zerolog.Nop())
	require.NoError(t, two.Start(t.Context()))
	var calls sync.WaitGroup
	for i := range 200 {
		recorder := []*audit.Recorder{one, two}[i%2]
		calls.Go(func() {
			end, err := recorder.Begin(as(t, "ada"), call(t, create, fmt.Sprint("r", i)))
			if err == nil {
				end(authz.Succeeded, nil)
			}
		})
	}
	calls.Wait()
	require.NoError(t, two.Stop(t.Context()))
	stop()
	require.Len(t, found(t, s, store.AuditFilter{Outcome: "succeeded"}), 200)
	result, err := audit.Verify(t.Context(), s)
	require.NoError(t, err)
	require.Empty(t, result.Problem)
	require.EqualValues(t, 200, result.Checked)
}
