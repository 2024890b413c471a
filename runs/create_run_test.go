package runs_test

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/values/cachekey"
)

func withInputs(request *workflow.CreateRunRequest, literals ...*task.NamedLiteral) *workflow.CreateRunRequest {
	request.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: &task.Inputs{Literals: literals}}
	return request
}

func (c *writeFixture) inputs(run string) *task.Inputs {
	c.t.Helper()
	body, err := c.blobs.ReadAll(c.t.Context(), blobpath.InputsPath(c.storage(run, "a0").GetInputUri()), 1<<20)
	require.NoError(c.t, err)
	var inputs task.Inputs
	require.NoError(c.t, proto.Unmarshal(body, &inputs))
	return &inputs
}

func TestCreateRunAnswersTheWholeAction(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("other"))
	request := namedRun("first")
	request.Source = workflow.RunSource_RUN_SOURCE_CLI
	request.RunSpec = &task.RunSpec{
		Labels:   &task.Labels{Values: map[string]string{"team": "blue"}},
		Relation: &common.Relation{RelatedTo: runID("other"), RelationType: common.RelationType_RELATION_TYPE_RERUN},
	}
	run := c.create(request)
	require.Equal(t, "blue", run.GetLabels()["team"])
	require.True(t, proto.Equal(actionID("first", "a0"), run.GetAction().GetId()), "%v", run)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_QUEUED, run.GetAction().GetStatus().GetPhase())
	require.EqualValues(t, 1, run.GetAction().GetStatus().GetAttempts())
	metadata := run.GetAction().GetMetadata()
	require.Equal(t, "env.main", metadata.GetTask().GetId().GetName())
	require.Equal(t, "flytesnacks", metadata.GetTask().GetId().GetProject())
	require.Equal(t, "python", metadata.GetTask().GetTaskType())
	require.Equal(t, "env", metadata.GetEnvironmentName())
	require.Equal(t, workflow.RunSource_RUN_SOURCE_CLI, metadata.GetSource())
	require.Equal(t, "other", metadata.GetRelation().GetRelatedTo().GetName())

	again := c.create(proto.CloneOf(request))
	require.True(t, proto.Equal(run, again), "%v\n%v", run, again)
	details, err := c.runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runID("first")})
	require.NoError(t, err)
	require.True(t, proto.Equal(request.GetRunSpec(), details.GetDetails().GetRunSpec()))
	require.True(t, proto.Equal(request.GetTaskSpec(), details.GetDetails().GetAction().GetTask()))
}

func TestInputsOfAnExistingRunAreNeverOverwritten(t *testing.T) {
	c := newWriteFixture(t, nil)
	first := withInputs(namedRun("r"), &task.NamedLiteral{Name: "x", Value: text("first")})
	c.create(first)
	second := withInputs(namedRun("r"), &task.NamedLiteral{Name: "x", Value: text("second")})
	_, err := c.runs.CreateRun(t.Context(), second)
	require.Equal(t, connect.CodeAlreadyExists, connect.CodeOf(err))
	require.Equal(t, "first", c.inputs("r").GetLiterals()[0].GetValue().GetScalar().GetPrimitive().GetStringValue())
	c.create(first)
	require.Equal(t, "first", c.inputs("r").GetLiterals()[0].GetValue().GetScalar().GetPrimitive().GetStringValue())
}

func TestStartTimeIsNotContent(t *testing.T) {
	c := newWriteFixture(t, nil)
	request := namedRun("r")
	request.RunStartTime = timestamppb.Now()
	c.create(request)
	request.RunStartTime = timestamppb.New(time.Now().Add(time.Minute))
	c.create(request)
}

func TestDefaultsFillMissingInputs(t *testing.T) {
	c := newWriteFixture(t, nil)
	request := withInputs(namedRun("r"), &task.NamedLiteral{Name: "given", Value: text("mine")})
	parameter := func(name string) *task.NamedParameter {
		return &task.NamedParameter{Name: name, Parameter: &core.Parameter{Behavior: &core.Parameter_Default{Default: text("default")}}}
	}
	request.GetTaskSpec().DefaultInputs = []*task.NamedParameter{
		parameter("given"), parameter("missing"), {Name: "required", Parameter: &core.Parameter{}},
	}
	request.GetInputs().Context = []*core.KeyValuePair{{Key: "k", Value: "v"}}
	c.create(request)
	got := map[string]string{}
	for _, literal := range c.inputs("r").GetLiterals() {
		got[literal.GetName()] = literal.GetValue().GetScalar().GetPrimitive().GetStringValue()
	}
	require.Equal(t, map[string]string{"given": "mine", "missing": "default"}, got)
	require.Equal(t, "v", c.inputs("r").GetContext()[0].GetValue())
}

func TestCreateRunRefuses(t *testing.T) {
	c := newWriteFixture(t, nil)
	for name, tc := range map[string]struct {
		change func(*workflow.CreateRunRequest)
		code   connect.Code
		field  string
	}{
		"upper case":       {func(r *workflow.CreateRunRequest) { r.GetRunId().Name = "Run" }, connect.CodeInvalidArgument, "run_id.name"},
		"long name":        {func(r *workflow.CreateRunRequest) { r.GetRunId().Name = strings.Repeat("a", 31) }, connect.CodeInvalidArgument, "run_id.name"},
		"dash at the end":  {func(r *workflow.CreateRunRequest) { r.GetRunId().Name = "run-" }, connect.CodeInvalidArgument, "run_id.name"},
		"no project":       {func(r *workflow.CreateRunRequest) { r.GetRunId().Project = "none" }, connect.CodeNotFound, "none"},
		"no domain":        {func(r *workflow.CreateRunRequest) { r.GetRunId().Domain = "none" }, connect.CodeNotFound, "run_id.domain"},
		"concurrency of 1": {func(r *workflow.CreateRunRequest) { r.RunSpec = &task.RunSpec{MaxActionConcurrency: 1} }, connect.CodeInvalidArgument, "max_action_concurrency"},
		"base elsewhere":   {func(r *workflow.CreateRunRequest) { r.RunSpec = &task.RunSpec{RunBaseDir: "/etc"} }, connect.CodeInvalidArgument, "run_base_dir"},
		"no such task": {func(r *workflow.CreateRunRequest) {
			r.Task = &workflow.CreateRunRequest_TaskId{TaskId: &task.TaskIdentifier{Project: "flytesnacks", Domain: "development", Name: "none", Version: "v"}}
		}, connect.CodeNotFound, "none"},
		"no such trigger": {func(r *workflow.CreateRunRequest) {
			r.Task = &workflow.CreateRunRequest_TriggerName{TriggerName: &common.TriggerName{Project: "flytesnacks", Domain: "development", Name: "none", TaskName: "t"}}
		}, connect.CodeNotFound, "none"},
		"inputs elsewhere": {func(r *workflow.CreateRunRequest) {
			r.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: "/etc/passwd", InputsHash: "h"}}
		}, connect.CodeInvalidArgument, "offloaded_input_data.uri"},
		"inputs above the root": {func(r *workflow.CreateRunRequest) {
			uri := c.blobs.Root() + "/../elsewhere"
			r.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: uri, InputsHash: "h"}}
		}, connect.CodeInvalidArgument, "offloaded_input_data.uri"},
	} {
		t.Run(name, func(t *testing.T) {
			request := namedRun("r")
			tc.change(request)
			_, err := c.runs.CreateRun(t.Context(), request)
			require.Equal(t, tc.code, connect.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, tc.field)
		})
	}
}

func TestRunInAProjectGetsAName(t *testing.T) {
	c := newWriteFixture(t, nil)
	request := namedRun("")
	request.Id = &workflow.CreateRunRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}}
	name := c.create(request).GetAction().GetId().GetRun().GetName()
	require.Regexp(t, `^r[bcdfghjklmnpqrstvwxz2456789]{19}$`, name)
	require.NotEqual(t, name, c.create(request).GetAction().GetId().GetRun().GetName())
}

func TestCacheKeyOfARoot(t *testing.T) {
	c := newWriteFixture(t, nil)
	key := func(run, inputsHash string, discoverable bool) string {
		request := namedRun(run)
		request.GetTaskSpec().TaskTemplate.Metadata = &core.TaskMetadata{Discoverable: discoverable, DiscoveryVersion: "1"}
		request.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{
			OffloadedInputData: &common.OffloadedInputData{Uri: c.blobs.Root() + "/uploads/flytesnacks/development/x", InputsHash: inputsHash},
		}
		c.create(request)
		var key string
		require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT cache_key FROM actions WHERE run_name = $1`, run).Scan(&key))
		return key
	}
	require.Empty(t, key("none", "h", false))
	require.NotEmpty(t, key("one", "h", true))
	require.Equal(t, key("two", "h", true), key("three", "h", true))
	require.NotEqual(t, key("four", "h", true), key("five", "other", true))
}

// The same inputs have the same key however they come, inline or uploaded.
func TestCacheKeyDoesNotDependOnTheWay(t *testing.T) {
	c := newWriteFixture(t, nil)
	inputs := &task.Inputs{
		Literals: []*task.NamedLiteral{{Name: "x", Value: text("1")}, {Name: "when", Value: text("now")}},
		Context:  []*core.KeyValuePair{{Key: "k", Value: "v"}},
	}
	uri := c.blobs.Root() + "/uploads/flytesnacks/development/x"
	key := func(run string, change func(*workflow.CreateRunRequest)) string {
		request := namedRun(run)
		request.GetTaskSpec().TaskTemplate.Metadata = &core.TaskMetadata{Discoverable: true, DiscoveryVersion: "1", CacheIgnoreInputVars: []string{"when"}}
		change(request)
		c.create(request)
		var key string
		require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT cache_key FROM actions WHERE run_name = $1`, run).Scan(&key))
		return key
	}
	offloaded := func(hash string) func(*workflow.CreateRunRequest) {
		return func(r *workflow.CreateRunRequest) {
			r.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: uri, InputsHash: hash}}
		}
	}
	want := cachekey.Key("env.main", cachekey.InputsHash(&task.Inputs{Literals: inputs.GetLiterals()[:1]}, nil), nil, "1")
	require.Equal(t, want, key("inline", func(r *workflow.CreateRunRequest) { r.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: inputs} }))
	require.Equal(t, want, key("uploaded", offloaded(cachekey.OffloadedHash(inputs, []string{"when"}))))
}
