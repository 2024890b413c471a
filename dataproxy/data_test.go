package dataproxy_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	config "github.com/flyte-binary/flyte-binary/dataproxy"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// action registers an action whose inputs are in a directory.
func (f *fixture) action(name string, kind workflow.ActionType, phase common.ActionPhase, outputs string) (inputs string) {
	inputs = f.store.Root() + "/in/" + name + "/inputs.pb"
	f.state.uris[name] = &workflow.GetActionDataURIsResponse{InputsUri: inputs, OutputsUri: outputs}
	f.state.details[name] = &workflow.ActionDetails{
		Metadata: &workflow.ActionMetadata{ActionType: kind}, Status: &workflow.ActionStatus{Phase: phase, Attempts: 1},
	}
	return inputs
}

const (
	typeTask  = workflow.ActionType_ACTION_TYPE_TASK
	running   = common.ActionPhase_ACTION_PHASE_RUNNING
	succeeded = common.ActionPhase_ACTION_PHASE_SUCCEEDED
)

// Story R25: outputs over two megabytes failed their action, and all others were read and written again.
func TestActionData(t *testing.T) {
	f := newFixture(t)
	dir := f.store.Root() + "/out/a0/1"
	inputs := f.action("a0", typeTask, succeeded, dir)
	f.write(inputs, &task.Inputs{Literals: []*task.NamedLiteral{literal("x", "1")}, Context: []*core.KeyValuePair{{Key: "k"}}})
	f.write(dir+"/outputs.pb", &task.Outputs{Literals: []*task.NamedLiteral{literal("o0", "2")}})
	got, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("a0")})
	require.NoError(t, err)
	require.Equal(t, "x", got.GetInputs().GetLiterals()[0].GetName())
	require.Equal(t, "k", got.GetInputs().GetContext()[0].GetKey())
	require.Equal(t, "o0", got.GetOutputs().GetLiterals()[0].GetName())
	require.Equal(t, inputs, got.GetInputsUri())
	require.Equal(t, dir, got.GetOutputsUri())
}

func TestActionDataOfEachKind(t *testing.T) {
	f := newFixture(t)
	t.Run("a running action has inputs and no outputs yet", func(t *testing.T) {
		f.write(f.action("running", typeTask, running, ""), &task.Inputs{Literals: []*task.NamedLiteral{literal("x", "1")}})
		got, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("running")})
		require.NoError(t, err)
		require.Len(t, got.GetInputs().GetLiterals(), 1)
		require.NotNil(t, got.GetOutputs())
		require.Empty(t, got.GetOutputs().GetLiterals())
	})
	t.Run("a task without outputs", func(t *testing.T) {
		f.write(f.action("void", typeTask, succeeded, f.store.Root()+"/out/void/1/outputs.pb"), &task.Inputs{})
		require.NoError(t, f.store.WriteAll(t.Context(), f.store.Root()+"/out/void/1/outputs.pb", nil))
		got, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("void")})
		require.NoError(t, err)
		require.Empty(t, got.GetOutputs().GetLiterals())
		require.NotEmpty(t, got.GetOutputsUri())
	})
	t.Run("missing inputs are named", func(t *testing.T) {
		f.action("gone", typeTask, succeeded, "")
		_, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("gone")})
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
		require.ErrorContains(t, err, "inputs")
	})
	t.Run("a signalled condition has its value", func(t *testing.T) {
		f.action("c", workflow.ActionType_ACTION_TYPE_CONDITION, succeeded, "")
		f.state.details["c"].Result = &workflow.ActionDetails_SignalInfo{SignalInfo: &workflow.SignalInfo{Output: literal("", "yes").GetValue()}}
		got, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("c")})
		require.NoError(t, err)
		require.Equal(t, "o0", got.GetOutputs().GetLiterals()[0].GetName())
		require.Equal(t, "yes", got.GetOutputs().GetLiterals()[0].GetValue().GetScalar().GetPrimitive().GetStringValue())
	})
	t.Run("a waiting condition has nothing", func(t *testing.T) {
		f.action("w", workflow.ActionType_ACTION_TYPE_CONDITION, common.ActionPhase_ACTION_PHASE_PAUSED, "")
		got, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("w")})
		require.NoError(t, err)
		require.Empty(t, got.GetOutputs().GetLiterals())
	})
	t.Run("an unknown action", func(t *testing.T) {
		_, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("none")})
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	})
}

func TestActionDataThatCannotBeRead(t *testing.T) {
	f := newFixture(t, func(c *config.Config) { c.MaxInlineBytes = 50 })
	f.write(f.action("large", typeTask, running, ""), &task.Inputs{Literals: []*task.NamedLiteral{literal("x", strings.Repeat("x", 50))}})
	_, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("large")})
	require.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(err))
	require.ErrorContains(t, err, "too large")

	require.NoError(t, f.store.WriteAll(t.Context(), f.action("damaged", typeTask, running, ""), []byte{0xff}))
	_, err = f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("damaged")})
	require.Equal(t, connect.CodeDataLoss, connect.CodeOf(err))

	f.state.uris["outside"] = &workflow.GetActionDataURIsResponse{InputsUri: "/etc/inputs.pb"}
	_, err = f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: id("outside")})
	require.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(err))
}

func reportRequest(name string, attempt uint32) *dataproxy.CreateDownloadLinkRequest {
	return &dataproxy.CreateDownloadLinkRequest{
		ArtifactType: dataproxy.ArtifactType_ARTIFACT_TYPE_REPORT,
		Source: &dataproxy.CreateDownloadLinkRequest_ActionAttemptId{
			ActionAttemptId: &common.ActionAttemptIdentifier{ActionId: id(name), Attempt: attempt},
		},
	}
}

func TestReports(t *testing.T) {
	f := newFixture(t)
	base := f.store.Root() + "/p/d/r/"
	f.state.storage["a0"] = &enginev1.GetActionStorageResponse{RunOutputBase: base, Attempts: 2}
	f.state.details["a0"] = &workflow.ActionDetails{}
	require.NoError(t, f.store.WriteAll(t.Context(), base+"a0/2/report.html", []byte("<h1>report</h1>")))
	got, err := f.data.CreateDownloadLink(t.Context(), reportRequest("a0", 2))
	require.NoError(t, err)
	require.Len(t, got.GetPreSignedUrls().GetSignedUrl(), 1)
	url := got.GetPreSignedUrls().GetSignedUrl()[0]
	status, body := f.send(http.MethodGet, url, nil, nil)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "<h1>report</h1>", body)
	require.Contains(t, got.GetPreSignedUrls().GetSignedUrl()[0], "show=text%2Fhtml", "as a page without an origin; see blobstore.ShownPolicy")
	status, _ = f.send(http.MethodGet, strings.Replace(url, "/2/", "/1/", 1), nil, nil)
	require.Equal(t, http.StatusForbidden, status, "tampered")
	status, _ = f.send(http.MethodPut, url, []byte("x"), nil)
	require.Equal(t, http.StatusForbidden, status)
	f.clock.Step(time.Hour)
	status, _ = f.send(http.MethodGet, url, nil, nil)
	require.Equal(t, http.StatusForbidden, status, "expired")

	for _, r := range []*dataproxy.CreateDownloadLinkRequest{reportRequest("a0", 1), reportRequest("a0", 3), reportRequest("none", 1)} {
		_, err = f.data.CreateDownloadLink(t.Context(), r)
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	}

	// The report of a cached action is with the action that made it.
	f.state.storage["cached"] = &enginev1.GetActionStorageResponse{RunOutputBase: base, Attempts: 1}
	f.state.details["cached"] = &workflow.ActionDetails{Attempts: []*workflow.ActionAttempt{
		{Attempt: 1, Outputs: &task.OutputReferences{ReportUri: base + "a0/2/report.html"}},
	}}
	_, err = f.data.CreateDownloadLink(t.Context(), reportRequest("cached", 1))
	require.NoError(t, err)
}

func TestCodeBundles(t *testing.T) {
	f := newFixture(t)
	uri := f.store.Root() + "/uploads/p/d/x/fast.tar.gz"
	require.NoError(t, f.store.WriteAll(t.Context(), uri, []byte("bundle")))
	require.NoError(t, f.store.WriteAll(t.Context(), f.store.Root()+"/p/d/r/secret.pb", []byte("secret")))
	pod, err := structpb.NewStruct(map[string]any{"containers": []any{
		map[string]any{"name": "sidecar"}, map[string]any{"name": "main", "args": []any{"a0", "--tgz", uri}},
	}})
	require.NoError(t, err)
	container := func(args ...string) *core.TaskTemplate {
		return &core.TaskTemplate{Target: &core.TaskTemplate_Container{Container: &core.Container{Args: args}}}
	}
	link := func(template *core.TaskTemplate) (*dataproxy.CreateDownloadLinkResponse, error) {
		f.state.details["a0"] = &workflow.ActionDetails{Spec: &workflow.ActionDetails_Task{Task: &task.TaskSpec{TaskTemplate: template}}}
		request := reportRequest("a0", 1)
		request.ArtifactType = dataproxy.ArtifactType_ARTIFACT_TYPE_CODE_BUNDLE
		return f.data.CreateDownloadLink(t.Context(), request)
	}
	for name, template := range map[string]*core.TaskTemplate{
		"arguments": container("a0", "--inputs", "x", "--tgz", uri, "--dest", "."),
		"pickle":    container("--pkl", uri),
		"pod":       {Target: &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{PodSpec: pod}}, Config: map[string]string{"primary_container_name": "main"}},
		"metadata":  {Metadata: &core.TaskMetadata{CodeBundleUri: uri}},
	} {
		got, err := link(template)
		require.NoError(t, err, name)
		status, body := f.send(http.MethodGet, got.GetPreSignedUrls().GetSignedUrl()[0], nil, nil)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "bundle", body)
	}
	for name, template := range map[string]*core.TaskTemplate{
		"none": container("--tgz"), "elsewhere": container("--tgz", "s3://other/x"), "not an upload": container("--tgz", f.store.Root()+"/p/d/r/secret.pb"),
		"stepping out": container("--tgz", f.store.Root()+"/uploads/../p/d/r/secret.pb"), "gone": container("--tgz", uri+"x"), "no task": nil,
	} {
		_, err := link(template)
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%s: %v", name, err)
	}
	f.state.tasks["t:v"] = &task.TaskSpec{TaskTemplate: container("--tgz", uri)}
	_, err = f.data.CreateDownloadLink(t.Context(), &dataproxy.CreateDownloadLinkRequest{
		ArtifactType: dataproxy.ArtifactType_ARTIFACT_TYPE_CODE_BUNDLE,
		Source:       &dataproxy.CreateDownloadLinkRequest_TaskId{TaskId: &task.TaskIdentifier{Project: "p", Domain: "d", Name: "t", Version: "v"}},
	})
	require.NoError(t, err)
}

func TestBadRequestsNameTheField(t *testing.T) {
	f := newFixture(t)
	link := func(change func(*dataproxy.CreateDownloadLinkRequest)) error {
		request := reportRequest("a0", 1)
		change(request)
		_, err := f.data.CreateDownloadLink(t.Context(), request)
		return err
	}
	refused(t, link(func(r *dataproxy.CreateDownloadLinkRequest) { proto.Reset(r) }), "artifact_type")
	refused(t, link(func(r *dataproxy.CreateDownloadLinkRequest) { r.ArtifactType = 99 }), "artifact_type")
	refused(t, link(func(r *dataproxy.CreateDownloadLinkRequest) { r.Source = nil }), "source")
	refused(t, link(func(r *dataproxy.CreateDownloadLinkRequest) { r.ExpiresIn = durationpb.New(-time.Second) }), "expires_in")
	refused(t, link(func(r *dataproxy.CreateDownloadLinkRequest) { r.GetActionAttemptId().ActionId = nil }), "action_id")
	refused(t, link(func(r *dataproxy.CreateDownloadLinkRequest) { r.GetActionAttemptId().Attempt = 0 }), "attempt")
	refused(t, link(func(r *dataproxy.CreateDownloadLinkRequest) {
		r.Source = &dataproxy.CreateDownloadLinkRequest_ActionAttemptId{}
	}), "action_attempt_id")
	refused(t, link(func(r *dataproxy.CreateDownloadLinkRequest) {
		r.Source = &dataproxy.CreateDownloadLinkRequest_AppId{AppId: &app.Identifier{Org: "o", Project: "p", Domain: "d", Name: "n"}}
	}), "source")

	_, err := f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{})
	refused(t, err, "action_id")
	_, err = f.data.GetActionData(t.Context(), &dataproxy.GetActionDataRequest{ActionId: &common.ActionIdentifier{Name: "a0"}})
	refused(t, err, "action_id.run")
	_, err = f.cluster.SelectCluster(t.Context(), &cluster.SelectClusterRequest{})
	refused(t, err, "resource")
	_, err = f.translator.TaskSpecToLaunchFormJson(t.Context(), &workflow.TaskSpecToLaunchFormJsonRequest{})
	refused(t, err, "task_spec")
	_, err = f.translator.LaunchFormJsonToLiterals(t.Context(), &workflow.LaunchFormJsonToLiteralsRequest{})
	refused(t, err, "json")
	_, err = f.translator.JsonValuesToLiterals(t.Context(), &workflow.JsonValuesToLiteralsRequest{})
	refused(t, err, "variables")
	_, err = f.translator.LiteralsToLaunchFormJson(t.Context(), &workflow.LiteralsToLaunchFormJsonRequest{LiteralsUri: "x"})
	refused(t, err, "owner")
	_, err = f.translator.LiteralsToLaunchFormJson(t.Context(), &workflow.LiteralsToLaunchFormJsonRequest{
		LiteralsUri: "x", Owner: &workflow.LiteralsToLaunchFormJsonRequest_ActionId{},
	})
	refused(t, err, "action_id")
	_, err = f.translator.LiteralsToLaunchFormJson(t.Context(), &workflow.LiteralsToLaunchFormJsonRequest{
		LiteralsUri: "x", Owner: &workflow.LiteralsToLaunchFormJsonRequest_TriggerId{},
	})
	refused(t, err, "trigger_id")
}

func TestSelectClusterSendsEverythingHere(t *testing.T) {
	f := newFixture(t)
	for operation := range cluster.SelectClusterRequest_Operation_name {
		if operation == 0 {
			continue
		}
		got, err := f.cluster.SelectCluster(t.Context(), &cluster.SelectClusterRequest{
			Operation: cluster.SelectClusterRequest_Operation(operation),
			Resource:  &cluster.SelectClusterRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "p", Domain: "d"}},
		})
		require.NoError(t, err)
		require.Empty(t, got.GetClusterEndpoint())
	}
	_, err := f.cluster.SelectCluster(t.Context(), &cluster.SelectClusterRequest{
		Operation: 99, Resource: &cluster.SelectClusterRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "p", Domain: "d"}},
	})
	refused(t, err, "operation")
}

// TestSelectClusterNamesTheCluster: that of an action, the only one of a pool, one that exists; a name says nothing about the endpoint.
func TestSelectClusterNamesTheCluster(t *testing.T) {
	f := newFixture(t)
	f.state.pools("east", "gpu", "cheap")
	f.state.pools("west", "cheap")
	f.state.storage = map[string]*enginev1.GetActionStorageResponse{"runs": {Cluster: "west"}, "waits": {}}
	ask := func(change func(*cluster.SelectClusterRequest)) (string, error) {
		r := &cluster.SelectClusterRequest{Operation: cluster.SelectClusterRequest_OPERATION_TAIL_LOGS}
		change(r)
		got, err := f.cluster.SelectCluster(t.Context(), r)
		require.Empty(t, got.GetClusterEndpoint())
		return got.GetCluster(), err
	}
	action := func(name string) func(*cluster.SelectClusterRequest) {
		return func(r *cluster.SelectClusterRequest) {
			r.Resource = &cluster.SelectClusterRequest_ActionId{ActionId: id(name)}
		}
	}
	pool := func(name string) func(*cluster.SelectClusterRequest) {
		return func(r *cluster.SelectClusterRequest) {
			r.Resource = &cluster.SelectClusterRequest_ClusterPoolId{ClusterPoolId: &common.ClusterPoolIdentifier{Name: name}}
		}
	}
	for name, test := range map[string]struct {
		change func(*cluster.SelectClusterRequest)
		want   string
	}{
		"an action":      {action("runs"), "west"},
		"one that waits": {action("waits"), ""},
		"no action":      {action("none"), ""},
		"an attempt": {func(r *cluster.SelectClusterRequest) {
			r.Resource = &cluster.SelectClusterRequest_ActionAttemptId{ActionAttemptId: &common.ActionAttemptIdentifier{ActionId: id("runs"), Attempt: 1}}
		}, "west"},
		"the pool of one": {pool("gpu"), "east"},
		"a pool of two":   {pool("cheap"), ""},
		"the pool of all": {pool("default"), ""},
		"a cluster": {func(r *cluster.SelectClusterRequest) {
			r.Resource = &cluster.SelectClusterRequest_ClusterId{ClusterId: &common.ClusterIdentifier{Name: "west"}}
		}, "west"},
	} {
		got, err := ask(test.change)
		require.NoError(t, err, name)
		require.Equal(t, test.want, got, name)
	}
	_, err := ask(pool("tpu"))
	refused(t, err, "cluster_pool_id.name")
	require.ErrorContains(t, err, "there is no pool tpu of clusters; pools: cheap, default, gpu")
	_, err = ask(func(r *cluster.SelectClusterRequest) {
		r.Resource = &cluster.SelectClusterRequest_ClusterId{ClusterId: &common.ClusterIdentifier{Name: "north"}}
	})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

func TestTranslator(t *testing.T) {
	f := newFixture(t)
	variables := &core.VariableMap{Variables: []*core.VariableEntry{{Key: "x", Value: &core.Variable{
		Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_STRING}},
	}}}}
	form, err := f.translator.TaskSpecToLaunchFormJson(t.Context(), &workflow.TaskSpecToLaunchFormJsonRequest{
		TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{Interface: &core.TypedInterface{Inputs: variables}}},
	})
	require.NoError(t, err)
	_, err = f.translator.LaunchFormJsonToLiterals(t.Context(), &workflow.LaunchFormJsonToLiteralsRequest{Json: form.GetJson()})
	refused(t, err, "inputs.x")

	inputs := f.action("a0", typeTask, succeeded, "")
	f.write(inputs, &task.Inputs{Literals: []*task.NamedLiteral{literal("x", "one")}})
	filled, err := f.translator.LiteralsToLaunchFormJson(t.Context(), &workflow.LiteralsToLaunchFormJsonRequest{
		Variables: variables, LiteralsUri: inputs, Owner: &workflow.LiteralsToLaunchFormJsonRequest_ActionId{ActionId: id("a0")},
	})
	require.NoError(t, err)
	back, err := f.translator.LaunchFormJsonToLiterals(t.Context(), &workflow.LaunchFormJsonToLiteralsRequest{Json: filled.GetJson()})
	require.NoError(t, err)
	require.True(t, proto.Equal(literal("x", "one"), back.GetLiterals()[0]))

	dir := strings.TrimSuffix(inputs, "/inputs.pb")
	f.state.triggers["t"] = &trigger.TriggerSpec{InputWrapper: &trigger.TriggerSpec_OffloadedInputData{
		OffloadedInputData: &common.OffloadedInputData{Uri: dir, InputsHash: "x"},
	}}
	filled, err = f.translator.LiteralsToLaunchFormJson(t.Context(), &workflow.LiteralsToLaunchFormJsonRequest{
		Variables: variables, LiteralsUri: dir, Owner: &workflow.LiteralsToLaunchFormJsonRequest_TriggerId{TriggerId: &common.TriggerIdentifier{
			Name: &common.TriggerName{Project: "p", Domain: "d", Name: "t", TaskName: "x"}, Revision: 1,
		}},
	})
	require.NoError(t, err)
	require.Contains(t, filled.GetJson().String(), "one")

	_, err = f.translator.LiteralsToLaunchFormJson(t.Context(), &workflow.LiteralsToLaunchFormJsonRequest{
		Variables: variables, LiteralsUri: "/etc/passwd", Owner: &workflow.LiteralsToLaunchFormJsonRequest_ActionId{ActionId: id("a0")},
	})
	refused(t, err, "literals_uri")

	values, err := structpb.NewStruct(map[string]any{"x": "two"})
	require.NoError(t, err)
	got, err := f.translator.JsonValuesToLiterals(t.Context(), &workflow.JsonValuesToLiteralsRequest{Variables: variables, Values: values})
	require.NoError(t, err)
	require.True(t, proto.Equal(literal("x", "two"), got.GetLiterals()[0]))
	_, err = f.translator.LiteralsToLaunchFormJson(t.Context(), &workflow.LiteralsToLaunchFormJsonRequest{
		Variables: variables, Literals: []*task.NamedLiteral{{Name: "x", Value: &core.Literal{Value: &core.Literal_OffloadedMetadata{OffloadedMetadata: &core.LiteralOffloadedMetadata{}}}}},
	})
	require.Equal(t, connect.CodeUnimplemented, connect.CodeOf(err))
}
