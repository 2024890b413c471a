package manager_test

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/access"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

type runsStream = *connect.ServerStreamForClient[workflow.WatchRunsResponse]

// watchAll begins a stream of all runs, which sends at least one message.
func watchAll(t *testing.T, server *closedServer, client connect.HTTPClient) runsStream {
	t.Helper()
	request := &workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_Org{Org: "o"}}
	stream, err := workflowconnect.NewRunServiceClient(client, server.url).WatchRuns(context.WithoutCancel(t.Context()), request)
	require.NoError(t, err)
	return stream
}

func endsUnauthenticated(t *testing.T, stream runsStream, words string) {
	t.Helper()
	ends(t, stream, connect.CodeUnauthenticated, words)
}

func ends(t *testing.T, stream runsStream, code connect.Code, words string) {
	t.Helper()
	for stream.Receive() {
	}
	require.Equal(t, code, connect.CodeOf(stream.Err()), "%v", stream.Err())
	require.ErrorContains(t, stream.Err(), words)
	require.NoError(t, stream.Close())
}

// TestStreamsEndWhenTokensExpire: those that began with the token of a provider, once the minute has passed by which clocks
// may differ, and those that began with a key that has an end. A client that calls with a new token gets a new stream. The code
// is one after which the SDK does so as often as it takes.
func TestStreamsEndWhenTokensExpire(t *testing.T) {
	clk := shiftedBy(0)
	server, issuer, _ := startWithProvidersAt(t, clk)
	admin := server.browser(t)
	admin.signIn("admin")
	access := accessv1connect.NewAccessServiceClient(admin.http, server.url)
	_, err := access.CreateBinding(t.Context(), &accessv1.CreateBindingRequest{
		Member: &accessv1.Member{Kind: accessv1.MemberKind_MEMBER_KIND_USER, Name: "Second|ada"}, Role: "viewer", Scope: &accessv1.Scope{},
	})
	require.NoError(t, err)
	key, err := accessv1connect.NewKeyServiceClient(admin.http, server.url).CreateKey(t.Context(), &accessv1.CreateKeyRequest{
		Name: "watcher", Roles: []*accessv1.KeyRole{{Role: "viewer", Scope: &accessv1.Scope{}}}, Lifetime: durationpb.New(time.Hour),
	})
	require.NoError(t, err)
	token := func() connect.HTTPClient {
		return bearerClient{server.browser(t).http, issuer.Token(map[string]any{"aud": "flyte", "sub": "ada", "exp": clk.Now().Add(10 * time.Minute).Unix()})}
	}
	first := token()
	byToken, byKey := watchAll(t, server, first), watchAll(t, server, bearerClient{server.browser(t).http, key.GetSecret()})
	require.True(t, byToken.Receive(), "%v", byToken.Err())
	require.True(t, byKey.Receive(), "%v", byKey.Err())
	clk.by.Add(int64(11*time.Minute + time.Second))
	ends(t, byToken, connect.CodeDeadlineExceeded, "the token of Second has expired")
	endsUnauthenticated(t, watchAll(t, server, first), "the token of Second is not valid: it expired at")
	renewed := watchAll(t, server, token())
	require.True(t, renewed.Receive(), "%v", renewed.Err())
	require.NoError(t, renewed.Close())
	clk.by.Add(int64(time.Hour))
	endsUnauthenticated(t, byKey, "ended at")
}

// TestStreamsEndWithTheirCredentials watches runs with a session and with a key, and ends these: no one has changed what the
// callers may see, and still the streams end.
func TestStreamsEndWithTheirCredentials(t *testing.T) {
	server := startSignIn(t, func(c *configuration.Config) {
		c.Access.Bindings = []access.BindingConfig{{User: "grace", Role: "viewer"}}
	})
	grace := server.browser(t)
	grace.signIn("grace")
	keys := accessv1connect.NewKeyServiceClient(grace.http, server.url)
	key, err := keys.CreateKey(t.Context(), &accessv1.CreateKeyRequest{Name: "watcher", Roles: []*accessv1.KeyRole{{Role: "viewer", Scope: &accessv1.Scope{}}}})
	require.NoError(t, err)

	watch := func(client connect.HTTPClient) runsStream { return watchAll(t, server, client) }
	inTab, otherTab, byKey := watch(grace.http), watch(grace.http), watch(bearerClient{server.browser(t).http, key.GetSecret()})
	_, err = keys.RevokeKey(t.Context(), &accessv1.RevokeKeyRequest{Id: key.GetKey().GetId()})
	require.NoError(t, err)
	endsUnauthenticated(t, byKey, "was revoked at")
	grace.post("/access/sign-out", nil)
	endsUnauthenticated(t, inTab, "the session has ended")
	endsUnauthenticated(t, otherTab, "the session has ended")
}
