package runs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

func deployment(name, version string, change func(*task.TaskSpec)) *task.DeployTaskRequest {
	spec := &task.TaskSpec{
		ShortName: "short", TaskTemplate: &core.TaskTemplate{Type: "python", Metadata: &core.TaskMetadata{}},
		Environment: &task.Environment{Name: "env"}, Documentation: &task.DocumentationEntity{ShortDescription: "does things"},
	}
	if change != nil {
		change(spec)
	}
	return &task.DeployTaskRequest{
		TaskId: &task.TaskIdentifier{Project: "flytesnacks", Domain: "development", Name: name, Version: version}, Spec: spec,
	}
}

// Story R28: triggers that were removed came back, and their inputs were ignored.
func TestDeployTask(t *testing.T) {
	r := newReadFixture(t, nil)
	request := deployment("env.main", "v1", func(s *task.TaskSpec) { s.Environment.Description = "an environment" })
	_, err := r.tasks.DeployTask(t.Context(), request)
	require.NoError(t, err)

	response, err := r.tasks.GetTaskDetails(t.Context(), &task.GetTaskDetailsRequest{TaskId: request.GetTaskId()})
	require.NoError(t, err)
	details := response.GetDetails()
	require.True(t, proto.Equal(request.GetSpec(), details.GetSpec()), "the spec comes back whole")
	require.True(t, proto.Equal(request.GetTaskId(), details.GetTaskId()))
	require.Equal(t, "anonymous", details.GetMetadata().GetDeployedBy().GetUser().GetId().GetSubject())
	require.Equal(t, "short", details.GetMetadata().GetShortName())
	require.Equal(t, "env", details.GetMetadata().GetEnvironmentName())
	require.Equal(t, r.clock.Now(), details.GetMetadata().GetDeployedAt().AsTime())

	t.Run("again", func(t *testing.T) {
		_, err := r.tasks.DeployTask(t.Context(), request)
		require.NoError(t, err)
	})
	t.Run("other content", func(t *testing.T) {
		_, err := r.tasks.DeployTask(t.Context(), deployment("env.main", "v1", nil))
		refused(t, err, connect.CodeAlreadyExists, "version v1 of task env.main")
	})
	for name, test := range map[string]struct {
		change func(*task.DeployTaskRequest)
		code   connect.Code
		text   string
	}{
		"triggers": {func(r *task.DeployTaskRequest) {
			r.Triggers = []*task.TaskTrigger{{Name: "t", Spec: &task.TaskTriggerSpec{}}}
		}, connect.CodeUnimplemented, "1 trigger(s)"},
		"unknown project": {func(r *task.DeployTaskRequest) { r.TaskId.Project = "nope" }, connect.CodeNotFound, "project nope"},
		"unknown domain":  {func(r *task.DeployTaskRequest) { r.TaskId.Domain = "nope" }, connect.CodeNotFound, "development, staging, production"},
		"no spec":         {func(r *task.DeployTaskRequest) { r.Spec = nil }, connect.CodeInvalidArgument, "spec"},
		"no id":           {func(r *task.DeployTaskRequest) { r.TaskId = nil }, connect.CodeInvalidArgument, "task_id"},
	} {
		t.Run(name, func(t *testing.T) {
			request := deployment("env.other", "v1", nil)
			test.change(request)
			_, err := r.tasks.DeployTask(t.Context(), request)
			refused(t, err, test.code, test.text)
			_, err = r.tasks.GetTaskDetails(t.Context(), &task.GetTaskDetailsRequest{
				TaskId: &task.TaskIdentifier{Project: "flytesnacks", Domain: "development", Name: "env.other", Version: "v1"},
			})
			refused(t, err, connect.CodeNotFound, "task env.other version v1")
		})
	}
	t.Run("descriptions are cut between characters", func(t *testing.T) {
		long := strings.Repeat("ü", 255)
		request := deployment("env.long", "v1", func(s *task.TaskSpec) { s.Documentation.ShortDescription = long })
		_, err := r.tasks.DeployTask(t.Context(), request)
		require.NoError(t, err)
		var stored string
		require.NoError(t, r.pool.QueryRow(t.Context(), `SELECT short_description FROM tasks WHERE name = 'env.long'`).Scan(&stored))
		require.True(t, utf8.ValidString(stored))
		require.Equal(t, long, stored)
	})
}

// TestConcurrentDeployments: concurrent deployments leave a task with exactly one latest version.
func TestConcurrentDeployments(t *testing.T) {
	r := newReadFixture(t, nil)
	var group errgroup.Group
	for n := range 24 {
		group.Go(func() error {
			_, err := r.tasks.DeployTask(t.Context(), deployment("env.main", fmt.Sprintf("v%d", n%8), nil))
			return err
		})
	}
	require.NoError(t, group.Wait())
	var latest, all int
	require.NoError(t, r.pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE is_latest), count(*) FROM tasks`).Scan(&latest, &all))
	require.Equal(t, []int{1, 8}, []int{latest, all})
}

func TestListTasks(t *testing.T) {
	r := newReadFixture(t, nil)
	deploy := func(name, version string, change func(*task.TaskSpec)) {
		t.Helper()
		r.clock.Step(time.Second)
		_, err := r.tasks.DeployTask(t.Context(), deployment(name, version, change))
		require.NoError(t, err)
	}
	deploy("env.a", "v1", nil)
	deploy("env.b", "v1", func(s *task.TaskSpec) { s.TaskTemplate.Metadata.IsEntrypoint = true })
	deploy("env.a", "v2", nil)
	deploy("other.c", "v9", func(s *task.TaskSpec) { s.Environment.Name = "other" })
	run := schema.Root{}
	run.ID, run.RunID, run.Project, run.Domain, run.RunName, run.Name = 1, 1, "flytesnacks", "development", "r1", "a0"
	run.TaskName, run.Phase, run.ActionType, run.CreatedAt = "env.a", 4, 1, r.clock.Now()
	require.NoError(t, storetest.Insert(t.Context(), r.pool, run))

	known := func(filters ...*task.ListTasksRequest_KnownFilter) []*task.ListTasksRequest_KnownFilter {
		return filters
	}
	entrypoint := func(value bool) *task.ListTasksRequest_KnownFilter {
		return &task.ListTasksRequest_KnownFilter{FilterBy: &task.ListTasksRequest_KnownFilter_IsEntrypoint{IsEntrypoint: value}}
	}
	for name, test := range map[string]struct {
		request *common.ListRequest
		known   []*task.ListTasksRequest_KnownFilter
		want    string
	}{
		"newest first":    {nil, nil, "other.c@v9 env.a@v2 env.b@v1"},
		"oldest first":    {&common.ListRequest{SortBy: &common.Sort{Key: "created_at", Direction: common.Sort_ASCENDING}}, nil, "env.b@v1 env.a@v2 other.c@v9"},
		"by name":         {&common.ListRequest{Limit: 1, Filters: []*common.Filter{{Field: "name", Values: []string{"env.a"}}}}, nil, "env.a@v2"},
		"by environment":  {&common.ListRequest{Filters: []*common.Filter{{Function: common.Filter_CONTAINS, Field: "name", Values: []string{"env."}}}}, nil, "env.a@v2 env.b@v1"},
		"an old version":  {&common.ListRequest{Filters: []*common.Filter{{Field: "version", Values: []string{"v1"}}}}, nil, "env.b@v1"},
		"entry points":    {nil, known(entrypoint(true)), "env.b@v1"},
		"no entry points": {nil, known(entrypoint(false)), "other.c@v9 env.a@v2"},
		"deployed by": {nil, known(&task.ListTasksRequest_KnownFilter{
			FilterBy: &task.ListTasksRequest_KnownFilter_DeployedBy{DeployedBy: "somebody"},
		}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			response, err := r.tasks.ListTasks(t.Context(), &task.ListTasksRequest{
				Request: test.request, KnownFilters: test.known,
				ScopeBy: &task.ListTasksRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}},
			})
			require.NoError(t, err)
			var names []string
			for _, listed := range response.GetTasks() {
				names = append(names, listed.GetTaskId().GetName()+"@"+listed.GetTaskId().GetVersion())
				require.Equal(t, listed.GetTaskId().GetName() == "env.a", listed.GetTaskSummary().GetLatestRun().GetRunId().GetName() == "r1")
			}
			require.Equal(t, test.want, strings.Join(names, " "))
			require.Equal(t, uint32(3), response.GetMetadata().GetTotal())
			require.Equal(t, uint32(len(names)), response.GetMetadata().GetFilteredTotal())
		})
	}

	t.Run("pages", func(t *testing.T) {
		var names []string
		request := &task.ListTasksRequest{Request: &common.ListRequest{Limit: 1}, ScopeBy: &task.ListTasksRequest_Org{Org: "any"}}
		for {
			response, err := r.tasks.ListTasks(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, uint32(3), response.GetMetadata().GetFilteredTotal(), "on every page")
			names = append(names, response.GetTasks()[0].GetTaskId().GetName())
			if request.Request.Token = response.GetToken(); response.GetToken() == "" {
				break
			}
		}
		require.Equal(t, []string{"other.c", "env.a", "env.b"}, names)
	})
	t.Run("unknown field", func(t *testing.T) {
		_, err := r.tasks.ListTasks(t.Context(), &task.ListTasksRequest{
			Request: &common.ListRequest{Filters: []*common.Filter{{Field: "nope", Values: []string{"x"}}}},
			ScopeBy: &task.ListTasksRequest_Org{Org: "any"},
		})
		refused(t, err, connect.CodeInvalidArgument, "request.filters[0].field")
	})
	t.Run("versions", func(t *testing.T) {
		request := &task.ListVersionsRequest{
			Request: &common.ListRequest{Limit: 1}, TaskName: &task.TaskName{Project: "flytesnacks", Domain: "development", Name: "env.a"},
		}
		first, err := r.tasks.ListVersions(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, "v2", first.GetVersions()[0].GetVersion())
		require.NotNil(t, first.GetVersions()[0].GetDeployedAt())
		require.NotNil(t, first.GetVersions()[0].GetDeployedBy())
		request.Request.Token = first.GetToken()
		second, err := r.tasks.ListVersions(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, "v1", second.GetVersions()[0].GetVersion())
		require.Empty(t, second.GetToken())
	})
}
