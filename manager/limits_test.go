package manager_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/access/limits"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager"
)

// TestLimitsOfCallersAndProjects runs a whole server and reaches each limit of access.limits over the network.
func TestLimitsOfCallersAndProjects(t *testing.T) {
	config := testConfig(t)
	config.Access.Bindings = []access.BindingConfig{
		{User: "ada", Role: "operator"}, {User: "bob", Role: "operator"}, {User: "eve", Role: "operator"},
	}
	config.Access.Limits = limits.Config{RequestsPerSecond: 1, Streams: 1, RunsPerMinute: 2, ProjectRunsPerMinute: 3}
	clk := clock.NewFake(time.Now())
	server, err := manager.Complete(t.Context(), config, manager.Options{
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel), REST: nowhere(t), Authenticator: byName{}, Clock: clk,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(t, server.Start(t.Context()))
	runs := func(name string) workflowconnect.RunServiceClient {
		return workflowconnect.NewRunServiceClient(as(name), "http://"+server.Addr())
	}
	refused := func(err error, words string) {
		t.Helper()
		require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, words)
		var wire *connect.Error
		require.ErrorAs(t, err, &wire)
		require.NotEmpty(t, wire.Meta().Get("Retry-After"))
		value, err := wire.Details()[0].Value()
		require.NoError(t, err)
		require.Positive(t, value.(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
	}

	require.NoError(t, createRun(t, runs("ada"), runOf("flytesnacks", "one")))
	require.NoError(t, createRun(t, runs("ada"), runOf("flytesnacks", "two")))
	refused(createRun(t, runs("ada"), runOf("flytesnacks", "three")), "user ada creates more than 2 runs a minute")
	require.NoError(t, createRun(t, runs("bob"), runOf("flytesnacks", "three")))
	refused(createRun(t, runs("bob"), runOf("flytesnacks", "four")), "more than 3 runs a minute are created in project flytesnacks")

	watch := func() (*connect.ServerStreamForClient[workflow.WatchRunDetailsResponse], bool) {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		stream, err := runs("bob").WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: runOf("flytesnacks", "one")})
		require.NoError(t, err)
		return stream, stream.Receive()
	}
	first, open := watch()
	require.True(t, open, "%v", first.Err())
	second, open := watch()
	require.False(t, open)
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(second.Err()))
	require.ErrorContains(t, second.Err(), "user bob has 1 open streams")

	get := func() error {
		_, err := runs("eve").GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("flytesnacks", "one")})
		return err
	}
	for range 10 {
		require.NoError(t, get())
	}
	err = get()
	refused(err, "user eve makes more than 1 requests a second")
	var wire *connect.Error
	require.ErrorAs(t, err, &wire)
	require.Equal(t, "1", wire.Meta().Get("Retry-After"))
	clk.Step(time.Second)
	require.NoError(t, get(), "after the time that the answer named")
}
