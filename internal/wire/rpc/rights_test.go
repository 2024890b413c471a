package rpc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// changing is a policy that can be changed.
type changing struct {
	mu      sync.Mutex
	answer  func(authz.Rule, authz.Resource) (authz.Scope, error)
	changed chan struct{}
}

func (c *changing) Authorise(_ context.Context, _ authz.Identity, rule authz.Rule, resource authz.Resource) (authz.Scope, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answer(rule, resource)
}

func (c *changing) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *changing) become(answer func(authz.Rule, authz.Resource) (authz.Scope, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = answer
	close(c.changed)
	c.changed = make(chan struct{})
}

func everything(authz.Rule, authz.Resource) (authz.Scope, error) { return authz.Everything(), nil }

// TestAStreamEndsWhenItsRightGoes: a stream that is silent, and one whose handler sends on and does not look at its context.
func TestAStreamEndsWhenItsRightGoes(t *testing.T) {
	denied := func(rule authz.Rule, resource authz.Resource) (authz.Scope, error) {
		return authz.Scope{}, authz.Denied("%s is not allowed on %s any more", rule.Action, resource)
	}
	narrowed := func(authz.Rule, authz.Resource) (authz.Scope, error) {
		return authz.Scope{Places: []authz.Place{{Project: "p"}}}, nil
	}
	for name, c := range map[string]struct {
		becomes func(authz.Rule, authz.Resource) (authz.Scope, error)
		code    connect.Code
	}{
		"taken away": {denied, connect.CodePermissionDenied},
		"narrowed":   {narrowed, connect.CodeUnavailable},
	} {
		for _, silent := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				policy := &changing{answer: everything, changed: make(chan struct{})}
				started := make(chan struct{})
				h := watching{handle: func(ctx context.Context, send func() error) error {
					if err := send(); err != nil {
						return err
					}
					close(started)
					if silent {
						<-ctx.Done()
						return nil
					}
					for {
						if err := send(); err != nil {
							return err
						}
					}
				}}
				mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{Authoriser: policy}))
				mux.Handle(workflowconnect.NewRunServiceHandler(h, mux.Options()...))
				stream, err := workflowconnect.NewRunServiceClient(rpc.InProcess(mux), rpc.InProcessURL).
					WatchRunDetails(t.Context(), &workflow.WatchRunDetailsRequest{RunId: someRun.RunId})
				require.NoError(t, err)
				<-started
				policy.become(everything) // nothing changes for this caller
				policy.become(c.becomes)
				for stream.Receive() {
				}
				require.Equal(t, c.code, connect.CodeOf(stream.Err()), "%v", stream.Err())
				require.NoError(t, stream.Close())
			})
		}
	}
}

// sessions is an authenticator of one caller, whose session can be ended.
type sessions struct {
	kind  authz.Kind
	over  atomic.Bool
	asked atomic.Int32
}

func (s *sessions) Authenticate(context.Context, authz.Request) (authz.Identity, error) {
	return authz.Identity{Kind: s.kind, Subject: "ada", Credential: "s_1"}, nil
}

func (s *sessions) Ended(_ context.Context, identity authz.Identity) error {
	s.asked.Add(1)
	if s.over.Load() && identity.Credential == "s_1" {
		return rpc.Unauthenticated("the session has ended")
	}
	return nil
}

// TestAStreamEndsWithItsSession: the rights of its caller stay as they are.
func TestAStreamEndsWithItsSession(t *testing.T) {
	for _, kind := range []authz.Kind{authz.User, authz.Key, authz.Task} {
		t.Run(kind.String(), func(t *testing.T) { testEndOfSession(t, kind) })
	}
}

func testEndOfSession(t *testing.T, kind authz.Kind) {
	t.Helper()
	people, clk := &sessions{kind: kind}, clock.NewFake(time.Now())
	h := watching{handle: func(ctx context.Context, send func() error) error {
		if err := send(); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}}
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{Authenticator: people, Clock: clk}))
	mux.Handle(workflowconnect.NewRunServiceHandler(h, mux.Options()...))
	server := httptest.NewServer(mux)
	defer server.Close()
	stream, err := workflowconnect.NewRunServiceClient(server.Client(), server.URL).
		WatchRunDetails(t.Context(), &workflow.WatchRunDetailsRequest{RunId: someRun.RunId})
	require.NoError(t, err)
	require.True(t, stream.Receive())
	again := func() {
		require.Eventually(t, func() bool { return clk.Timers() == 1 }, time.Minute, time.Millisecond)
		clk.Step(3 * time.Second)
	}
	for n := range 3 { // it lasts
		again()
		require.Eventually(t, func() bool { return people.asked.Load() == int32(n+1) }, time.Minute, time.Millisecond)
	}
	people.over.Store(true)
	again()
	require.False(t, stream.Receive())
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(stream.Err()), "%v", stream.Err())
	require.NoError(t, stream.Close())
}

// tokens are those of a provider, which end an hour after the clock's first look.
type tokens struct {
	clock clock.Clock
	until time.Time
	asked atomic.Int32
}

func (t *tokens) Authenticate(context.Context, authz.Request) (authz.Identity, error) {
	return authz.Identity{Kind: authz.User, Subject: "ada", Credential: "token", Until: t.until}, nil
}

func (t *tokens) Ended(_ context.Context, identity authz.Identity) error {
	t.asked.Add(1)
	if t.clock.Now().After(identity.Until) {
		return rpc.DeadlineExceeded("the token has expired")
	}
	return nil
}

// logging serves a log that does not end.
type logging struct {
	workflowconnect.UnimplementedRunLogsServiceHandler
}

func (logging) TailLogs(ctx context.Context, _ *workflow.TailLogsRequest, s *connect.ServerStream[workflow.TailLogsResponse]) error {
	if err := s.Send(&workflow.TailLogsResponse{}); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// TestALogOutlivesItsToken for a day, since no client can continue it where it ended.
func TestALogOutlivesItsToken(t *testing.T) {
	clk := clock.NewFake(time.Now())
	people := &tokens{clock: clk, until: clk.Now().Add(time.Hour)}
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{Authenticator: people, Clock: clk}))
	mux.Handle(workflowconnect.NewRunLogsServiceHandler(logging{}, mux.Options()...))
	server := httptest.NewServer(mux)
	defer server.Close()
	stream, err := workflowconnect.NewRunLogsServiceClient(server.Client(), server.URL).
		TailLogs(t.Context(), &workflow.TailLogsRequest{ActionId: &common.ActionIdentifier{Run: runIn("p"), Name: "a0"}, Attempt: 1})
	require.NoError(t, err)
	require.True(t, stream.Receive(), "%v", stream.Err())
	for n, later := range []time.Duration{24 * time.Hour, 2 * time.Hour} {
		require.Eventually(t, func() bool { return clk.Timers() == 1 }, time.Minute, time.Millisecond)
		clk.Step(later)
		require.Eventually(t, func() bool { return people.asked.Load() == int32(n+1) }, time.Minute, time.Millisecond)
	}
	require.False(t, stream.Receive())
	require.Equal(t, connect.CodeDeadlineExceeded, connect.CodeOf(stream.Err()), "%v", stream.Err())
	require.NoError(t, stream.Close())
}

// watching serves one stream.
type watching struct {
	workflowconnect.UnimplementedRunServiceHandler
	handle func(ctx context.Context, send func() error) error
}

func (w watching) WatchRunDetails(ctx context.Context, _ *workflow.WatchRunDetailsRequest, s *connect.ServerStream[workflow.WatchRunDetailsResponse]) error {
	return w.handle(ctx, func() error { return s.Send(&workflow.WatchRunDetailsResponse{}) })
}

func runIn(project string) *common.RunIdentifier {
	return &common.RunIdentifier{Project: project, Domain: "d", Name: "r"}
}

// recorder is an auditor that remembers.
type recorder struct {
	mu      sync.Mutex
	entries []authz.Entry
	callers []authz.Identity
}

func (r *recorder) Record(ctx context.Context, entry authz.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries, r.callers = append(r.entries, entry), append(r.callers, authz.IdentityFrom(ctx))
}

// TestEachOutcomeIsRecorded: of calls, of streams and of plain routes, and what is refused before a body is read.
func TestEachOutcomeIsRecorded(t *testing.T) {
	var fails error
	auditor := &recorder{}
	mux, err := rpc.NewGuardedMux(rpc.Chain{Authenticator: ada{}, Authoriser: only("p"), Auditor: auditor})
	require.NoError(t, err)
	mux.Handle(workflowconnect.NewRunServiceHandler(behaviour{details: func(context.Context) error { return fails }}, mux.Options()...))
	mux.Handle("GET /metrics", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server := httptest.NewServer(mux)
	defer server.Close()
	client := workflowconnect.NewRunServiceClient(server.Client(), server.URL)
	get := func(token, project string) {
		ctx, call := connect.NewClientContext(t.Context())
		call.RequestHeader().Set("Authorization", token)
		_, _ = client.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: runIn(project)})
	}
	get("Bearer ada", "p")
	get("Bearer ada", "q")
	get("Bearer eve", "p")
	fails = rpc.NotFound("no such run")
	get("Bearer ada", "p")
	ctx, call := connect.NewClientContext(t.Context())
	call.RequestHeader().Set("Authorization", "Bearer ada")
	stream, err := client.WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: someRun.RunId})
	require.NoError(t, err)
	require.False(t, stream.Receive())
	require.NoError(t, stream.Close())
	answer, err := server.Client().Get(server.URL + "/metrics")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())

	const unary, watch = "/flyteidl2.workflow.RunService/GetRunDetails", "/flyteidl2.workflow.RunService/WatchRunDetails"
	auditor.mu.Lock()
	defer auditor.mu.Unlock()
	for i, want := range []struct {
		procedure, caller string
		outcome           authz.Outcome
		about             []authz.Resource
	}{
		{unary, "ada", authz.Succeeded, []authz.Resource{{Kind: "run", Project: "p", Domain: "d", Name: "r"}}},
		{unary, "ada", authz.Refused, []authz.Resource{{Kind: "run", Project: "q", Domain: "d", Name: "r"}}},
		{unary, "", authz.Refused, nil}, // before its body is read
		{unary, "ada", authz.Failed, []authz.Resource{{Kind: "run", Project: "p", Domain: "d", Name: "r"}}},
		{watch, "ada", authz.Failed, []authz.Resource{{Kind: "run", Project: "p", Domain: "d", Name: "r"}}},
		{"GET /metrics", "", authz.Refused, []authz.Resource{{}}},
	} {
		require.Greater(t, len(auditor.entries), i)
		got := auditor.entries[i]
		require.Equal(t, want.procedure, got.Request.Procedure, i)
		require.Equal(t, want.caller, auditor.callers[i].Subject, i)
		require.Equal(t, want.outcome, got.Outcome, "%d: %s: %v", i, got.Outcome, got.Err)
		require.Equal(t, want.about, got.Resources, i)
		require.NotEmpty(t, got.Request.Peer)
		require.Equal(t, want.outcome == authz.Succeeded, got.Err == nil)
	}
	require.Len(t, auditor.entries, 6)
}
