package audit_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
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
	hide   = "/flyteidl2.secret.SecretService/CreateSecret" // it changes something outside Postgres
	view   = "/flyteidl2.workflow.RunService/GetRunDetails"
)

// started returns a store and a recorder that has started.
func started(t *testing.T) (*store.Store, *audit.Recorder, func()) {
	t.Helper()
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	recorder := audit.NewRecorder(s, false, clock.System{}, zerolog.Nop())
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
	_, end, err := recorder.Begin(as(t, "ada"), call(t, hide, "r1"))
	require.NoError(t, err)
	_, _, err = recorder.Begin(as(t, "ada"), call(t, hide, "lost"))
	require.NoError(t, err)
	require.Empty(t, found(t, s, store.AuditFilter{}), "not before they end")
	end(authz.Failed, rpc.NotFound("no such secret"))
	stop()
	require.Equal(t, []string{"ada secret.create failed"}, found(t, s, store.AuditFilter{}))

	handler := &audit.Handler{Store: s, Clock: clock.System{}}
	page, err := handler.SearchAudit(t.Context(), &accessv1.SearchAuditRequest{})
	require.NoError(t, err)
	require.Empty(t, page.GetUnfinished(), "it may still end")
	later := clock.NewFake(time.Now().Add(2 * time.Minute))
	for _, c := range []struct {
		request *accessv1.SearchAuditRequest
		shown   int
	}{
		{&accessv1.SearchAuditRequest{}, 1},
		{&accessv1.SearchAuditRequest{Subject: "ada", Permission: "secret.create", Scope: &accessv1.Scope{Project: "p"}, Outcome: "unknown"}, 1},
		{&accessv1.SearchAuditRequest{Scope: &accessv1.Scope{Project: "q"}}, 0},
		{&accessv1.SearchAuditRequest{Subject: "bob"}, 0},
		{&accessv1.SearchAuditRequest{Outcome: "failed"}, 0},
		{&accessv1.SearchAuditRequest{Token: "a"}, 0},
	} {
		page, err := (&audit.Handler{Store: s, Clock: later}).SearchAudit(t.Context(), c.request)
		require.NoError(t, err)
		require.Len(t, page.GetUnfinished(), c.shown, "%v", c.request)
		for _, event := range page.GetUnfinished() {
			require.Equal(t, []string{"run p/d/lost"}, event.GetResources())
			require.Contains(t, event.GetError(), "has not ended")
		}
	}

	unknown := store.AuditEvent{Outcome: "unknown", Error: "its process died"}
	lost, err := s.EndLostAudit(t.Context(), store.LostAudit{Begun: time.Now().Add(-time.Minute), End: unknown}, 10, audit.Seal)
	require.NoError(t, err)
	require.Zero(t, lost, "it is not old enough")
	lost, err = s.EndLostAudit(t.Context(), store.LostAudit{Begun: time.Now().Add(time.Minute), End: unknown}, 10, audit.Seal)
	require.NoError(t, err)
	require.Equal(t, 1, lost, "its process died")
	require.Equal(t, []string{"ada secret.create failed", "ada secret.create unknown"}, found(t, s, store.AuditFilter{}))

	events, err := s.SearchAudit(t.Context(), store.AuditFilter{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"run p/d/lost"}, events[0].Resources)
	require.Equal(t, "its process died", events[0].Error)
	require.Equal(t, "10.0.0.7", events[0].Peer)
	require.Equal(t, "id?lost", events[0].RequestID)
	require.Equal(t, "session", events[0].Credential)
}

// broken is a store that is unavailable.
type broken struct{}

func (broken) BeginAudit(context.Context, []store.AuditEnd) error {
	return errors.New("no database")
}

func (broken) QueueAudit(*pgx.Batch, []store.AuditEnd) error { return errors.New("no database") }

func (broken) AppendAudit(context.Context, []store.AuditEnd, store.Seal) error {
	return errors.New("no database")
}

func TestAChangeThatCannotBeRecordedIsNotMade(t *testing.T) {
	recorder := audit.NewRecorder(broken{}, false, clock.System{}, zerolog.Nop())
	require.NoError(t, recorder.Start(t.Context()))
	_, _, err := recorder.Begin(as(t, "ada"), call(t, hide, "r1"))
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(err))
	_, end, err := recorder.Begin(as(t, "ada"), call(t, view, "r1"))
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

// TestChangesAreRecordedWhereAccessIsOpen: with where they came from, for there is no name. What processes of tasks do all the time is left
// out, and nothing waits for the record.
func TestChangesAreRecordedWhereAccessIsOpen(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	recorder := audit.NewRecorder(s, true, clock.System{}, zerolog.Nop())
	require.NoError(t, recorder.Start(t.Context()))
	for _, procedure := range []string{
		create, view, "/flyteidl2.workflow.RunService/AbortRun", "/flyteidl2.secret.SecretService/GetSecret", "/flyteidl2.secret.SecretService/DeleteSecret",
		"/flyteidl2.actions.ActionsService/Enqueue", "/flyteidl2.dataproxy.DataProxyService/CreateUploadLocation",
	} {
		entry := call(t, procedure, "r1")
		entry.Request.Header.Set("User-Agent", "flyte-sdk 2.5")
		_, end, err := recorder.Begin(t.Context(), entry)
		require.NoError(t, err)
		require.Nil(t, end, procedure)
		entry.Outcome = authz.Succeeded
		recorder.Record(t.Context(), entry)
	}
	refused := call(t, create, "r2") // such as with a token that is not valid
	refused.Outcome = authz.Refused
	recorder.Record(t.Context(), refused)
	require.NoError(t, recorder.Stop(t.Context()))
	require.Equal(t, []string{" run.create succeeded", " run.abort succeeded", " secret.delete succeeded"}, found(t, s, store.AuditFilter{}))
	events, err := s.SearchAudit(t.Context(), store.AuditFilter{Limit: 1})
	require.NoError(t, err)
	require.Equal(t, "anonymous 10.0.0.7 flyte-sdk 2.5 id?r1", fmt.Sprint(events[0].Kind, " ", events[0].Peer, " ", events[0].UserAgent, " ", events[0].RequestID))

	broken := audit.NewRecorder(broken{}, true, clock.System{}, zerolog.Nop())
	require.NoError(t, broken.Start(t.Context()))
	refused.Outcome = authz.Succeeded
	broken.Record(t.Context(), refused)
	require.NoError(t, broken.Stop(t.Context()), "the end of a process does not fail for it")
}

func TestAChangedOrRemovedEventShows(t *testing.T) {
	for name, c := range map[string]struct {
		damage string
		at     int64
		words  string
	}{
		"nothing":    {`SELECT 1`, 0, ""},
		"changed":    {`UPDATE access_audit SET subject = 'bob' WHERE sequence = 7`, 7, "event 7 was changed"},
		"agent":      {`UPDATE access_audit SET user_agent = 'curl' WHERE sequence = 7`, 7, "event 7 was changed"},
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
	two := audit.NewRecorder(s, false, clock.System{}, zerolog.Nop())
	require.NoError(t, two.Start(t.Context()))
	var calls sync.WaitGroup
	for i := range 200 {
		recorder := []*audit.Recorder{one, two}[i%2]
		calls.Go(func() {
			_, end, err := recorder.Begin(as(t, "ada"), call(t, hide, fmt.Sprint("r", i)))
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

// TestExport: the lines of an export have every event once, oldest first, and the chain can be checked from them alone. It continues after
// any of them, as the rpc does.
func TestExport(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	const count = 1203 // some pages
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var ends []store.AuditEnd
	for i := range count {
		ends = append(ends, store.AuditEnd{Event: store.AuditEvent{
			At: began.Add(time.Duration(i) * time.Minute), Kind: "user", Subject: "ada", UserAgent: "curl", Procedure: create,
			Resources: []string{fmt.Sprint("run p/d/r\n", i)}, Outcome: "succeeded",
		}})
	}
	require.NoError(t, s.AppendAudit(t.Context(), ends, audit.Seal))
	lines := func(filter store.AuditFilter) (sequences []int64) {
		require.NoError(t, audit.Export(t.Context(), s, filter, func(e store.AuditEvent) error {
			line, err := audit.JSON(e)
			require.NoError(t, err)
			require.NotContains(t, string(line), "\n")
			var read struct {
				Sequence  int64
				UserAgent string
				Hash      string
			}
			require.NoError(t, json.Unmarshal(line, &read))
			require.Equal(t, hex.EncodeToString(e.Hash)+" curl", read.Hash+" "+read.UserAgent)
			sequences = append(sequences, read.Sequence)
			return nil
		}))
		return sequences
	}
	sequence := func(from, to int64) (all []int64) {
		for n := from; n <= to; n++ {
			all = append(all, n)
		}
		return all
	}
	require.Equal(t, sequence(1, count), lines(store.AuditFilter{}))
	require.Equal(t, sequence(700, count), lines(store.AuditFilter{After: 699}))
	require.Equal(t, sequence(11, 20), lines(store.AuditFilter{From: began.Add(10 * time.Minute), Until: began.Add(20 * time.Minute)}))
	stopped := errors.New("the pipe is closed")
	require.ErrorIs(t, audit.Export(t.Context(), s, store.AuditFilter{}, func(store.AuditEvent) error { return stopped }), stopped)

	handler, after, copied := &audit.Handler{Store: s, Clock: clock.System{}}, int64(0), []int64(nil)
	for {
		page, err := handler.SearchAudit(t.Context(), &accessv1.SearchAuditRequest{After: &after, Limit: 400})
		require.NoError(t, err)
		require.Empty(t, page.GetToken())
		if len(page.GetEvents()) == 0 {
			break
		}
		for _, event := range page.GetEvents() {
			after = event.GetSequence()
			copied = append(copied, after)
			require.Equal(t, "curl", event.GetUserAgent())
			require.Len(t, event.GetHash(), 64)
		}
	}
	require.Equal(t, sequence(1, count), copied)
	_, err := handler.SearchAudit(t.Context(), &accessv1.SearchAuditRequest{After: &after, Token: "a"})
	require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
	result, err := audit.Verify(t.Context(), s)
	require.NoError(t, err)
	require.Empty(t, result.Problem)
}

// TestAnExportIsRecordedFirst: a reader who breaks off after the first row has been recorded.
func TestAnExportIsRecordedFirst(t *testing.T) {
	s, recorder, _ := started(t)
	require.NoError(t, s.AppendAudit(t.Context(), []store.AuditEnd{{Event: store.AuditEvent{At: time.Now(), Subject: "ada", Permission: "run.create"}}}, audit.Seal))
	_, end, err := recorder.Begin(as(t, "eve"), call(t, "/flytebinary.access.v1.AuditService/SearchAudit", ""))
	require.NoError(t, err)
	require.NotNil(t, end)
	open, err := s.OpenAudit(t.Context(), store.AuditFilter{Limit: 10}, time.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, open, 1, "before the handler sends anything")
	require.Equal(t, "eve audit.view", open[0].Subject+" "+open[0].Permission)
	end(authz.Failed, errors.New("the connection is gone"))
}

// TestTheRecordOfAPlaceHasNoOther: the record of a project does not show names in another project, from calls that were about both, nor anything
// by which they could be guessed. That of the installation has all of it.
func TestTheRecordOfAPlaceHasNoOther(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	text := func(resources ...authz.Resource) (texts []string) {
		for _, resource := range resources {
			texts = append(texts, resource.String())
		}
		return texts
	}
	run := authz.Resource{Kind: "run", Project: "mine", Domain: "d", Name: "r", Action: "a0"}
	task := authz.Resource{Kind: "task", Project: "theirs", Domain: "d", Name: "secret-plan"}
	other := authz.Resource{Kind: "task", Project: "mine", Domain: "other", Name: "hidden-too"}
	whole := authz.Resource{Kind: "project", Project: "mine"}
	events := []store.AuditEnd{
		{Event: store.AuditEvent{Resources: text(run, task), Error: "task.view is not allowed on task theirs/d/secret-plan"}},
		{Event: store.AuditEvent{Resources: text(run, other, whole, authz.Resource{}), Error: "task mine/other/hidden-too"}},
		{Event: store.AuditEvent{Resources: append(text(run), "and 3 more"), Error: "no such run"}},
		{ID: store.NewAuditID(time.Now()), Begun: true, Event: store.AuditEvent{Resources: text(run, task)}},
	}
	for i := range events {
		e := &events[i].Event
		e.At, e.Project, e.Domain, e.Outcome = time.Now().Add(-time.Hour), "mine", "d", "unknown"
		if !events[i].Begun {
			e.Outcome = "refused"
		}
	}
	require.NoError(t, s.BeginAudit(t.Context(), events[3:]))
	require.NoError(t, s.AppendAudit(t.Context(), events[:3], audit.Seal))
	handler := &audit.Handler{Store: s, Clock: clock.System{}}
	search := func(scope *accessv1.Scope, after bool) (events []*accessv1.AuditEvent, all string) {
		request := &accessv1.SearchAuditRequest{Scope: scope}
		if after {
			request.After = new(int64)
		}
		found, err := handler.SearchAudit(t.Context(), request)
		require.NoError(t, err)
		require.Len(t, found.GetEvents(), 3)
		require.Equal(t, after, len(found.GetUnfinished()) == 0)
		return found.GetEvents(), found.String()
	}
	for _, after := range []bool{false, true} {
		narrowed, all := search(&accessv1.Scope{Project: "mine", Domain: "d"}, after)
		require.NotContains(t, all, "theirs")
		require.NotContains(t, all, "secret-plan")
		require.NotContains(t, all, "hidden-too")
		require.Contains(t, all, "run mine/d/r action a0")
		require.Contains(t, all, "task of another place")
		require.Contains(t, all, "project mine/")
		require.Contains(t, all, "no such run", "the error of a call that was about this place alone")
		hashes := 0
		for _, event := range narrowed {
			if event.GetHash() != "" {
				hashes++
			}
		}
		require.Equal(t, 1, hashes)
		_, all = search(&accessv1.Scope{Project: "mine"}, after)
		require.NotContains(t, all, "secret-plan")
		require.Contains(t, all, "hidden-too", "a domain of the project")
		_, all = search(nil, after)
		require.Contains(t, all, "secret-plan")
	}
}
