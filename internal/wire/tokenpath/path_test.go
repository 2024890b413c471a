package tokenpath_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/tokenpath"
)

// presented keeps what the authenticator is asked about.
type presented struct{ last authz.Request }

func (p *presented) Authenticate(_ context.Context, request authz.Request) (authz.Identity, error) {
	p.last = request
	if request.Token != "right" {
		return authz.Identity{}, rpc.Unauthenticated("wrong token")
	}
	return authz.Identity{Kind: authz.Task, Subject: "task"}, nil
}

type listsTasks struct {
	taskconnect.UnimplementedTaskServiceHandler
}

func (listsTasks) ListTasks(context.Context, *task.ListTasksRequest) (*task.ListTasksResponse, error) {
	return &task.ListTasksResponse{}, nil
}

// TestATokenInThePath: calls and plain routes, with each protocol, are those of the path without the token.
func TestATokenInThePath(t *testing.T) {
	p := &presented{}
	mux, err := rpc.NewGuardedMux(rpc.Chain{Authenticator: p})
	require.NoError(t, err)
	mux.Handle(taskconnect.NewTaskServiceHandler(listsTasks{}, mux.Options()...))
	mux.Handle("GET /metrics", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.String()+" "+r.RequestURI)
	}))
	server := httptest.NewServer(tokenpath.Cut(mux))
	t.Cleanup(server.Close)

	for _, option := range []connect.ClientOption{connect.WithProtoJSON(), connect.WithGRPCWeb(), connect.WithHTTPGet()} {
		_, err = taskconnect.NewTaskServiceClient(server.Client(), server.URL+"/t/right", option).ListTasks(t.Context(), &task.ListTasksRequest{ScopeBy: &task.ListTasksRequest_Org{Org: "o"}})
		require.NoError(t, err)
		require.Equal(t, "/flyteidl2.task.TaskService/ListTasks", p.last.Procedure)
		_, err = taskconnect.NewTaskServiceClient(server.Client(), server.URL+"/t/wrong", option).ListTasks(t.Context(), &task.ListTasksRequest{ScopeBy: &task.ListTasksRequest_Org{Org: "o"}})
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
		_, err = taskconnect.NewTaskServiceClient(server.Client(), server.URL, option).ListTasks(t.Context(), &task.ListTasksRequest{ScopeBy: &task.ListTasksRequest_Org{Org: "o"}})
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
	}
	get := func(path string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		require.NoError(t, err)
		response, err := server.Client().Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	status, body := get("/t/right/metrics?a=b%2Fc")
	require.Equal(t, http.StatusForbidden, status, "tasks read no metrics: %s", body)
	require.NotContains(t, body, "right")
	for path, want := range map[string]int{
		"/t/": http.StatusNotFound, "/t/right": http.StatusNotFound, "/t/right/t/right/metrics": http.StatusNotFound,
		"/t/r%69ght/metrics": http.StatusBadRequest, "/t/right%2Fmetrics": http.StatusBadRequest, "/%74/right/metrics": http.StatusBadRequest,
	} {
		status, body := get(path)
		require.Equal(t, want, status, "%s: %s", path, body)
	}
}

func TestThePathIsCutEverywhere(t *testing.T) {
	var seen *http.Request
	handler := tokenpath.Cut(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	for path, want := range map[string]string{
		"/t/secret/a/b?x=y": "/a/b?x=y", "/t/secret/a%2Fb/c": "/a%2Fb/c", "/t/secret": "/", "/t/secret/": "/", "/tasks/t/secret": "/tasks/t/secret",
	} {
		request := httptest.NewRequest(http.MethodGet, path, nil)
		handler.ServeHTTP(httptest.NewRecorder(), request)
		require.Equal(t, want, seen.URL.RequestURI(), path)
		require.Equal(t, want, seen.RequestURI, path)
		require.Equal(t, strings.HasPrefix(path, "/t/"), seen != request, "the request of the server stays as it is")
		require.Equal(t, path, request.RequestURI)
	}
}
