package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector/connectorconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// grpcApp is an app that serves a connector.
type grpcApp struct {
	connectorconnect.UnimplementedAsyncConnectorServiceHandler
	callers chan string
}

// callerOf notes who calls, as the gateway says.
func (a grpcApp) callerOf(next http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.callers <- r.Header.Get("X-Flyte-Caller")
		next.ServeHTTP(w, r)
	}
}

func (grpcApp) GetTask(context.Context, *connectorv2.GetTaskRequest) (*connectorv2.GetTaskResponse, error) {
	return &connectorv2.GetTaskResponse{Resource: &connectorv2.Resource{Message: "well"}}, nil
}

func (grpcApp) DeleteTask(context.Context, *connectorv2.DeleteTaskRequest) (*connectorv2.DeleteTaskResponse, error) {
	return nil, connect.NewError(connect.CodeInternal, errors.New("no such cluster"))
}

func (grpcApp) GetTaskLogs(
	_ context.Context, _ *connectorv2.GetTaskLogsRequest, out *connect.ServerStream[connectorv2.GetTaskLogsResponse],
) error {
	for range 3 {
		if err := out.Send(&connectorv2.GetTaskLogsResponse{}); err != nil {
			return err
		}
	}
	return connect.NewError(connect.CodeAborted, errors.New("the disk is full"))
}

// TestServicesReachAppsOverTheInnerWay: gRPC with its trailers, as the service, also to a private app and one that sleeps.
func TestServicesReachAppsOverTheInnerWay(t *testing.T) {
	served := grpcApp{callers: make(chan string, 10)}
	mux := http.NewServeMux()
	mux.Handle(connectorconnect.NewAsyncConnectorServiceHandler(served))
	backend := replica(t, served.callerOf(mux))
	kind := func(r *enginev1.AppRoute) { r.Connector, r.H2C, r.Private, r.AllowAnonymous = true, true, true, false }
	a := newApps(changed(route("tools", backend), kind), route("web", backend), changed(route("gone"), func(r *enginev1.AppRoute) {
		kind(r)
		r.Wakes, r.Reason = false, "app gone is stopped"
	}))
	f := start(t, a, options{signin: true})
	inner := f.service.Inner()
	routes, known := inner.Connectors()
	require.True(t, known)
	names := map[string]bool{}
	for _, one := range routes {
		names[one.GetId().GetName()] = true
	}
	require.Equal(t, map[string]bool{"tools": true, "gone": true}, names)

	ctx := authz.AsService(t.Context(), "connectors")
	client := func(app string) connectorconnect.AsyncConnectorServiceClient {
		return connectorconnect.NewAsyncConnectorServiceClient(inner, "http://in-process/apps/p/d/"+app, connect.WithGRPC())
	}
	answer, err := client("tools").GetTask(ctx, &connectorv2.GetTaskRequest{})
	require.NoError(t, err)
	require.Equal(t, "well", answer.GetResource().GetMessage())
	require.Equal(t, "internal", <-served.callers)
	_, err = client("tools").DeleteTask(ctx, &connectorv2.DeleteTaskRequest{})
	require.Equal(t, connect.CodeInternal, connect.CodeOf(err))
	require.ErrorContains(t, err, "no such cluster")
	require.True(t, connect.IsWireError(err))
	stream, err := client("tools").GetTaskLogs(ctx, &connectorv2.GetTaskLogsRequest{})
	require.NoError(t, err)
	n := 0
	for stream.Receive() {
		n++
	}
	require.Equal(t, 3, n)
	require.Equal(t, connect.CodeAborted, connect.CodeOf(stream.Err()), "%v", stream.Err())
	require.NoError(t, stream.Close())
	_, err = client("gone").GetTask(ctx, &connectorv2.GetTaskRequest{})
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
	require.ErrorContains(t, err, "app gone is stopped")
	_, err = client("none").GetTask(ctx, &connectorv2.GetTaskRequest{})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}
