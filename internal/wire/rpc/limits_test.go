package rpc_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// scarce is a limiter that says what it was asked, and refuses one sort of question.
type scarce struct {
	refuses string
	asked   []string
	sizes   []int
}

func (s *scarce) ask(question string, identity authz.Identity) error {
	s.asked = append(s.asked, question+" "+identity.Subject)
	if s.refuses == question {
		return rpc.TryLater(1500*time.Millisecond, "%s has too many", identity.Subject)
	}
	return nil
}

func (s *scarce) Request(_ context.Context, identity authz.Identity) error {
	return s.ask("request", identity)
}

func (s *scarce) Stream(_ context.Context, identity authz.Identity) (func(), error) {
	return func() { s.asked = append(s.asked, "release "+identity.Subject) }, s.ask("stream", identity)
}

func (s *scarce) Names(_ context.Context, identity authz.Identity, project string) (func(), error) {
	return func() { s.asked = append(s.asked, "leave "+project) }, s.ask("names "+project, identity)
}

func (s *scarce) Call(_ context.Context, identity authz.Identity, call authz.Call) error {
	s.sizes = append(s.sizes, call.Size())
	return s.ask("call "+call.Rule.Action+" "+call.Resources[0].Project, identity)
}

// limited is a server whose only caller is ada, and its client.
func limited(t *testing.T, limits *scarce) (*rpc.Mux, workflowconnect.RunServiceClient, string) {
	t.Helper()
	h := mux(rpc.Chain{Authenticator: ada{}, Limiter: limits}, behaviour{details: func(context.Context) error { return nil }})
	url := serve(t, h)
	return h, workflowconnect.NewRunServiceClient(http.DefaultClient, url), url
}

func asAda(t *testing.T) context.Context {
	t.Helper()
	ctx, call := connect.NewClientContext(t.Context())
	call.RequestHeader().Set("Authorization", "Bearer ada")
	return ctx
}

// requireLater checks that an error says when to try again, as a detail and as a header.
func requireLater(t *testing.T, err error) {
	t.Helper()
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "ada has too many")
	var wire *connect.Error
	require.ErrorAs(t, err, &wire)
	require.NotEmpty(t, wire.Details())
	value, err := wire.Details()[0].Value()
	require.NoError(t, err)
	require.Equal(t, 1500*time.Millisecond, value.(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
	require.Equal(t, "2", wire.Meta().Get("Retry-After"))
}

func TestTheChainAsksTheLimiterOncePerCall(t *testing.T) {
	limits := &scarce{}
	h, client, _ := limited(t, limits)
	_, err := client.GetRunDetails(asAda(t), someRun)
	require.NoError(t, err)
	require.Equal(t, []string{"request ada", "call run.view p ada"}, limits.asked)
	require.Equal(t, []int{proto.Size(someRun)}, limits.sizes)

	limits.asked = nil
	stream, err := client.WatchRunDetails(asAda(t), &workflow.WatchRunDetailsRequest{RunId: someRun.RunId})
	require.NoError(t, err)
	require.False(t, stream.Receive())
	require.NoError(t, stream.Err())
	require.Equal(t, []string{"request ada", "stream ada", "names p ada", "leave p", "release ada"}, limits.asked)

	limits.asked = nil
	ctx := authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.User, Subject: "ada"})
	_, err = workflowconnect.NewRunServiceClient(rpc.InProcess(h), rpc.InProcessURL).GetRunDetails(ctx, someRun)
	require.NoError(t, err)
	require.Empty(t, limits.asked, "a call within the process is part of one that was counted")
}

func TestLimitsAnswerWithTheTimeToRetry(t *testing.T) {
	for _, question := range []string{"request", "call run.view p"} {
		_, client, _ := limited(t, &scarce{refuses: question})
		_, err := client.GetRunDetails(asAda(t), someRun)
		requireLater(t, err)
	}
	for _, question := range []string{"stream", "names p"} {
		streamsAnswer(t, question)
	}
}

// streamsAnswer checks what a stream gets whose place is refused.
func streamsAnswer(t *testing.T, question string) {
	t.Helper()
	_, client, url := limited(t, &scarce{refuses: question})
	stream, err := client.WatchRunDetails(asAda(t), &workflow.WatchRunDetailsRequest{RunId: someRun.RunId})
	require.NoError(t, err)
	require.False(t, stream.Receive())
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(stream.Err()))

	ofGRPC := workflowconnect.NewRunServiceClient(http.DefaultClient, url, connect.WithGRPCWeb())
	stream, err = ofGRPC.WatchRunDetails(asAda(t), &workflow.WatchRunDetailsRequest{RunId: someRun.RunId})
	require.NoError(t, err)
	require.False(t, stream.Receive())
	requireLater(t, stream.Err())
}

func TestPlainRoutesSayWhenToTryAgain(t *testing.T) {
	m, err := rpc.NewGuardedMux(rpc.Chain{Authenticator: ada{}, Limiter: &scarce{refuses: "request"}})
	require.NoError(t, err)
	m.Handle("GET /debug/pprof/", http.NotFoundHandler())
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/pprof/", nil)
	request.Header.Set("Authorization", "Bearer ada")
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, request)
	require.Equal(t, http.StatusTooManyRequests, answer.Code)
	require.Equal(t, "2", answer.Header().Get("Retry-After"))
	require.Contains(t, answer.Body.String(), "ada has too many")
}

// A service that passes on the answer of another keeps the time to retry.
func TestTheTimeToRetryIsPassedOn(t *testing.T) {
	_, inner, _ := limited(t, &scarce{refuses: "request"})
	_, err := inner.GetRunDetails(asAda(t), someRun)
	outer := mux(rpc.Chain{}, behaviour{details: func(context.Context) error { return err }})
	_, err = workflowconnect.NewRunServiceClient(http.DefaultClient, serve(t, outer)).GetRunDetails(t.Context(), someRun)
	requireLater(t, err)
}
