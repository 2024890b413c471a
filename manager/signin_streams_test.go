package manager_test

import (
	"context"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestStreamsEndWithTheirCredentials watches runs with a session and with a key, and ends these: no one has changed what the callers
// may see, and still the streams end.
func TestStreamsEndWithTheirCredentials(t *testing.T) {
	server := startSignIn(t, func(c *configuration.Config) {
		c.Access.Bindings = []access.BindingConfig{{User: "grace", Role: "viewer"}}
	})
	grace := server.browser(t)
	grace.signIn("grace")
	keys := accessv1connect.NewKeyServiceClient(grace.http, server.url)
	key, err := keys.CreateKey(t.Context(), &accessv1.CreateKeyRequest{Name: "watcher", Roles: []*accessv1.KeyRole{{Role: "viewer", Scope: &accessv1.Scope{}}}})
	require.NoError(t, err)

	watch := func(client connect.HTTPClient) *connect.ServerStreamForClient[workflow.WatchRunsResponse] {
		t.Helper()
		request := &workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_Org{Org: "o"}}
		stream, err := workflowconnect.NewRunServiceClient(client, server.url).WatchRuns(context.WithoutCancel(t.Context()), request)
		require.NoError(t, err)
		return stream
	}
	inTab, otherTab, byKey := watch(grace.http), watch(grace.http), watch(bearerClient{server.browser(t).http, key.GetSecret()})
	ends := func(stream *connect.ServerStreamForClient[workflow.WatchRunsResponse], words string) {
		t.Helper()
		for stream.Receive() {
		}
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(stream.Err()), "%v", stream.Err())
		require.ErrorContains(t, stream.Err(), words)
		require.NoError(t, stream.Close())
	}
	_, err = keys.RevokeKey(t.Context(), &accessv1.RevokeKeyRequest{Id: key.GetKey().GetId()})
	require.NoError(t, err)
	ends(byKey, "was revoked at")
	grace.post("/access/sign-out", nil)
	ends(inTab, "the session has ended")
	ends(otherTab, "the session has ended")
}
