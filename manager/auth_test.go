package manager_test

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// oneProject lets root do everything, and everybody else what concerns one project and see the tasks of a library.
type oneProject struct {
	project string

	mu    sync.Mutex
	asked []string // GUARDED_BY(mu): subject, permission and project of each question
}

// Authenticate implements authz.Authenticator: the bearer token is the name.
func (*oneProject) Authenticate(_ context.Context, request authz.Request) (authz.Identity, error) {
	switch name := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer "); name {
	case "ada", "root":
		return authz.Identity{Kind: authz.User, Subject: name}, nil
	default:
		return authz.Identity{}, rpc.Unauthenticated("%q is unknown", name)
	}
}

// Authorize implements authz.Authoriser.
func (o *oneProject) Authorise(_ context.Context, identity authz.Identity, rule authz.Rule, resource authz.Resource) (authz.Scope, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, strings.Join([]string{identity.Subject, rule.Action, resource.Project}, " "))
	switch {
	case identity.Subject == "root" || resource.Project == o.project:
		return authz.Everything(), nil
	case rule.Members:
		return authz.Scope{}, nil
	case resource.Project == "library" && rule.Action == "task.view":
		return authz.Everything(), nil
	case rule.Lists && resource.Project == "":
		return authz.Scope{Places: []authz.Place{{Project: o.project}}}, nil
	}
	return authz.Scope{}, rpc.PermissionDenied("%s may not %s on %s", identity.Subject, rule.Action, resource)
}

func (o *oneProject) was(question string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.asked, question)
}

// as sends the calls of a client with a token.
type as string

// Do implements connect.HTTPClient.
func (a as) Do(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+string(a))
	return http.DefaultClient.Do(request)
}

func runOf(project, name string) *common.RunIdentifier {
	return &common.RunIdentifier{Project: project, Domain: "development", Name: name}
}

func createRun(t *testing.T, client workflowconnect.RunServiceClient, run *common.RunIdentifier) error {
	t.Helper()
	_, err := client.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: run},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Id:   &core.Identifier{Project: run.GetProject(), Domain: run.GetDomain(), Name: "hello.main", Version: "1"},
			Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1"}},
		}}},
	})
	return err
}

// TestAPolicyOfOneProject runs the whole server under a policy that knows who calls and what for: it denies and allows
// calls, streams and plain routes, and narrows lists.
func TestAPolicyOfOneProject(t *testing.T) {
	policy := &oneProject{project: "mine"}
	config := testConfig(t)
	config.Executor.Workers.Program = "/flyte-binary"
	server, err := manager.Complete(t.Context(), config, manager.Options{REST: nowhere(t), Authenticator: policy, Authoriser: policy})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(t, server.Start(t.Context()))
	url := "http://" + server.Addr()
	root, ada := workflowconnect.NewRunServiceClient(as("root"), url), workflowconnect.NewRunServiceClient(as("ada"), url)
	for _, id := range []string{"mine", "theirs"} {
		_, err := projectconnect.NewProjectServiceClient(as("root"), url).CreateProject(t.Context(), &project.CreateProjectRequest{Project: &project.Project{Id: id}})
		require.NoError(t, err)
		require.NoError(t, createRun(t, root, runOf(id, "first")))
	}
	denied := func(t *testing.T, err error) {
		t.Helper()
		require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "%v", err)
	}

	t.Run("calls", func(t *testing.T) {
		_, err := ada.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("mine", "first")})
		require.NoError(t, err)
		_, err = ada.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("theirs", "first")})
		denied(t, err)
		_, err = ada.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{})
		denied(t, err) // before validation: a request that names nothing asks for everything
		require.NoError(t, createRun(t, ada, runOf("mine", "second")))
		denied(t, createRun(t, ada, runOf("theirs", "second")))
		_, err = ada.CreateRun(t.Context(), &workflow.CreateRunRequest{
			Id:   &workflow.CreateRunRequest_RunId{RunId: runOf("mine", "third")},
			Task: &workflow.CreateRunRequest_TaskId{TaskId: &task.TaskIdentifier{Project: "theirs", Domain: "development", Name: "n", Version: "v"}},
		})
		denied(t, err) // both resources count
		startLibraryTask(t, url, ada)
		_, err = workflowconnect.NewRunServiceClient(as("eve"), url).GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("mine", "first")})
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
	})
	t.Run("calls within the process", func(t *testing.T) {
		_, err := dataproxyconnect.NewDataProxyServiceClient(as("ada"), url).CreateUploadLocation(t.Context(),
			&dataproxy.CreateUploadLocationRequest{Project: "mine", Domain: "development", Filename: "x", ContentMd5: make([]byte, 16)})
		require.NoError(t, err)
		require.True(t, policy.was("ada project.view mine"), "the identity crosses: %v", policy.asked)
	})
	t.Run("streams", func(t *testing.T) {
		for _, c := range []struct {
			project string
			allowed bool
		}{{"mine", true}, {"theirs", false}} {
			ctx, cancel := context.WithCancel(t.Context())
			stream, err := ada.WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: runOf(c.project, "first")})
			require.NoError(t, err)
			require.Equal(t, c.allowed, stream.Receive(), "%v", stream.Err())
			if !c.allowed {
				denied(t, stream.Err())
			}
			cancel()
			_ = stream.Close() // it was cut off
		}
	})
	t.Run("lists", func(t *testing.T) { narrowedLists(t, url, root, ada, denied) })
	t.Run("pools", func(t *testing.T) { narrowedPools(t, url, root, denied) })
	t.Run("plain routes", func(t *testing.T) {
		for _, c := range []struct {
			route, token string
			want         int
		}{
			{"/metrics", "ada", http.StatusForbidden},
			{"/metrics", "root", http.StatusOK},
			{"/metrics", "eve", http.StatusUnauthorized},
			{"/healthz", "eve", http.StatusOK},
			{"/v2/", "eve", http.StatusOK},
			{"/blobs/x", "root", http.StatusForbidden}, // without a signature
		} {
			code, _, body := do(t, http.MethodGet, url+c.route, nil, map[string]string{"Authorization": "Bearer " + c.token})
			require.Equal(t, c.want, code, "%s as %s: %s", c.route, c.token, body)
		}
	})
}

// startLibraryTask runs a task of a project whose tasks the caller may see, but in which it may not create runs.
func startLibraryTask(t *testing.T, url string, client workflowconnect.RunServiceClient) {
	t.Helper()
	id := &task.TaskIdentifier{Project: "library", Domain: "development", Name: "hello.main", Version: "1"}
	_, err := projectconnect.NewProjectServiceClient(as("root"), url).CreateProject(t.Context(), &project.CreateProjectRequest{Project: &project.Project{Id: "library"}})
	require.NoError(t, err)
	_, err = taskconnect.NewTaskServiceClient(as("root"), url).DeployTask(t.Context(), &task.DeployTaskRequest{TaskId: id, Spec: &task.TaskSpec{
		TaskTemplate: &core.TaskTemplate{
			Id:   &core.Identifier{Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName(), Version: id.GetVersion()},
			Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1"}},
		},
	}})
	require.NoError(t, err)
	_, err = client.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: runOf("mine", "of-the-library")},
		Task: &workflow.CreateRunRequest_TaskId{TaskId: id},
	})
	require.NoError(t, err)
}

// narrowedLists checks the lists across all projects, of which the caller may see only one.
func narrowedLists(t *testing.T, url string, root, ada workflowconnect.RunServiceClient, denied func(*testing.T, error)) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	everywhere := &workflow.ListRunsRequest{ScopeBy: &workflow.ListRunsRequest_Org{Org: "o"}}
	for client, want := range map[workflowconnect.RunServiceClient]string{root: "mine theirs", ada: "mine"} {
		list, err := client.ListRuns(ctx, everywhere)
		require.NoError(t, err)
		require.Equal(t, want, projectsOf(list.GetRuns()))
	}
	_, err := ada.ListRuns(ctx, &workflow.ListRunsRequest{
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "theirs", Domain: "development"}},
	})
	denied(t, err)
	projects, err := projectconnect.NewProjectServiceClient(as("ada"), url).ListProjects(ctx, &project.ListProjectsRequest{})
	require.NoError(t, err)
	require.Len(t, projects.GetProjects().GetProjects(), 1)
	require.Equal(t, "mine", projects.GetProjects().GetProjects()[0].GetId())
	insight := insightv1connect.NewInsightServiceClient(as("ada"), url)
	found, err := insight.Search(ctx, &insightv1.SearchRequest{Query: "first"})
	require.NoError(t, err)
	require.Len(t, found.GetFound(), 1)
	activity, err := insight.GetActivity(ctx, &insightv1.GetActivityRequest{})
	require.NoError(t, err)
	require.Len(t, activity.GetActivities(), 1)
	queues, err := insight.ListQueues(ctx, &insightv1.ListQueuesRequest{})
	require.NoError(t, err) // of the installation: any member may call
	require.NotEmpty(t, queues.GetQueues())
	_, err = insight.PreviewRetention(ctx, &insightv1.PreviewRetentionRequest{})
	denied(t, err) // about the installation, for those who may see all of it

	// An app of another project that uses a run of the caller's.
	_, err = appconnect.NewAppServiceClient(as("root"), url).Create(ctx, &app.CreateRequest{App: &app.App{
		Metadata: &app.Meta{Id: &app.Identifier{Project: "theirs", Domain: "development", Name: "web"}},
		Spec: &app.Spec{
			AppPayload:   &app.Spec_Container{Container: &core.Container{Image: "web:1"}},
			DesiredState: app.Spec_DESIRED_STATE_STOPPED,
			Inputs: &app.InputList{Items: []*app.Input{{Name: "model", Value: &app.Input_StringValue{
				StringValue: "s3://b/mine/development/" + blobpath.RunDir("first", nil) + "/a0/1/model.bin",
			}}}},
		},
	}})
	require.NoError(t, err)
	for caller, want := range map[as]int{"root": 1, "ada": 0} {
		users, err := insightv1connect.NewAppInsightServiceClient(caller, url).ListAppsOfRun(ctx, &insightv1.ListAppsOfRunRequest{RunId: runOf("mine", "first")})
		require.NoError(t, err)
		require.Len(t, users.GetApps(), want, caller)
	}

	stream, err := ada.WatchRuns(ctx, &workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_Org{Org: "o"}})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // it is cut off
	require.True(t, stream.Receive(), "%v", stream.Err())
	require.Equal(t, "mine", projectsOf(stream.Msg().GetRuns()))
	for _, id := range []string{"theirs", "mine"} {
		require.NoError(t, createRun(t, root, runOf(id, "watched")))
	}
	for seen := false; !seen; {
		require.True(t, stream.Receive(), "%v", stream.Err())
		for _, run := range stream.Msg().GetRuns() {
			require.Equal(t, "mine", run.GetAction().GetId().GetRun().GetProject())
			seen = seen || run.GetAction().GetId().GetRun().GetName() == "watched"
		}
	}
}

// projectsOf are the projects of runs, each once.
func projectsOf(runs []*workflow.Run) string {
	var names []string
	for _, run := range runs {
		names = append(names, run.GetAction().GetId().GetRun().GetProject())
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), " ")
}

// TestEveryRouteHasARule lists the plain routes, so that a new one is looked at; mounting one without a rule panics.
func TestEveryRouteHasARule(t *testing.T) {
	server, err := manager.Complete(t.Context(), testConfig(t), manager.Options{REST: nowhere(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	const people = "anonymous, user, key, service"
	kinds := map[string]string{}
	for _, pattern := range server.Routes() {
		rule, ok := authz.RouteRuleOf(pattern)
		require.True(t, ok, pattern)
		require.Regexp(t, `^[a-z]+\.[a-z]+$`, rule.Action)
		kinds[pattern] = rule.By.String()
	}
	require.Equal(t, map[string]string{
		"GET /healthz": "everybody", "GET /readyz": "everybody", "GET /metrics": people, "GET /log-level": people, "PUT /log-level": people,
		"/apps/": "anonymous, user, key, task, service", "/mcp": people, "/mcp/changes": people,
		"/blobs/": "everybody", "/v1/conditions/callback/": "everybody",
		"GET /{$}": "everybody", "GET /v2/": "everybody",
	}, kinds)
}

// TestTheOpenAPIWarns runs a server as serve does, with and without a policy.
func TestTheOpenAPIWarns(t *testing.T) {
	const warning = "the API has no authentication: every process on this machine may read and change everything"
	for name, c := range map[string]struct {
		options manager.Options
		warns   bool
	}{
		"open":     {manager.Options{}, true},
		"a policy": {manager.Options{Authoriser: &oneProject{}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.options.REST = nowhere(t)
			c.options.Logger = zerolog.New(zerolog.SyncWriter(&log)).Level(zerolog.InfoLevel).
				Hook(zerolog.HookFunc(func(_ *zerolog.Event, _ zerolog.Level, message string) {
					if message == "serving" {
						cancel() // it logs its warning and stops
					}
				}))
			server, err := manager.Complete(t.Context(), testConfig(t), c.options)
			require.NoError(t, err)
			require.NoError(t, server.Run(ctx))
			require.Equal(t, c.warns, strings.Contains(log.String(), warning), log.String())
			if c.warns {
				require.Contains(t, log.String(), `"address":"127.0.0.1:`)
			}
		})
	}
	require.Equal(t, "127.0.0.1:8090", configuration.DefaultConfig().Server.Listen)
}
