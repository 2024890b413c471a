package manager_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/access/policy"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret/secretconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger/triggerconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/contracttest"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// victim is the project of the tenant who is attacked.
const victim = "theirs"

// victims are the things of the victim, by the message that names one.
func victims() map[protoreflect.FullName]proto.Message { return thingsOf(victim, "") }

// thingsOf are the things of a project whose names end in a suffix, by the message that names one.
func thingsOf(project, suffix string) map[protoreflect.FullName]proto.Message {
	const domain = "development"
	run := runOf(project, "first"+suffix)
	action := &common.ActionIdentifier{Run: run, Name: "a0"}
	taskID := &task.TaskIdentifier{Org: "o", Project: project, Domain: domain, Name: "hello.main" + suffix, Version: "1"}
	name := &common.TriggerName{Org: "o", Project: project, Domain: domain, Name: "nightly" + suffix, TaskName: "hello.main" + suffix}
	appID := &app.Identifier{Org: "o", Project: project, Domain: domain, Name: "web" + suffix}
	model := &artifact.ArtifactName{Org: "o", Project: project, Domain: domain, Name: "model" + suffix}
	found := map[protoreflect.FullName]proto.Message{}
	for _, message := range []proto.Message{
		run, action, &common.ActionAttemptIdentifier{ActionId: action, Attempt: 1}, taskID,
		&task.TaskName{Org: "o", Project: project, Domain: domain, Name: taskID.GetName()}, name, &common.TriggerIdentifier{Name: name, Revision: 1},
		appID, &app.ReplicaIdentifier{AppId: appID, Name: appID.GetName() + "-1"}, model, &artifact.ArtifactIdentifier{Name: model, Version: "1"},
		&common.ProjectIdentifier{Organization: "o", Name: project, Domain: domain},
		&core.Identifier{ResourceType: core.ResourceType_TASK, Project: project, Domain: domain, Name: taskID.GetName(), Version: "1"},
		&secretpb.SecretIdentifier{Organization: "o", Project: project, Domain: domain, Name: "password" + suffix},
		&settings.SettingsKey{Org: "o", Project: project, Domain: domain}, &accessv1.Scope{Project: project, Domain: domain},
	} {
		found[message.ProtoReflect().Descriptor().FullName()] = message
	}
	return found
}

// fillVictim gives the victim a thing of each kind.
func fillVictim(t *testing.T, url string) {
	t.Helper()
	makeThings(t, url, victims())
}

// makeThings makes things.
func makeThings(t *testing.T, url string, things map[protoreflect.FullName]proto.Message) {
	t.Helper()
	taskID := things["flyteidl2.task.TaskIdentifier"].(*task.TaskIdentifier)
	_, err := taskconnect.NewTaskServiceClient(as("root"), url).DeployTask(t.Context(), &task.DeployTaskRequest{TaskId: taskID, Spec: &task.TaskSpec{
		TaskTemplate: &core.TaskTemplate{
			Id:   things["flyteidl2.core.Identifier"].(*core.Identifier),
			Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1"}},
		},
	}})
	require.NoError(t, err)
	_, err = triggerconnect.NewTriggerServiceClient(as("root"), url).DeployTrigger(t.Context(), &trigger.DeployTriggerRequest{
		Name: things["flyteidl2.common.TriggerName"].(*common.TriggerName), Spec: &trigger.TriggerSpec{TaskVersion: "1"},
	})
	require.NoError(t, err)
	_, err = secretconnect.NewSecretServiceClient(as("root"), url).CreateSecret(t.Context(), &secretpb.CreateSecretRequest{
		Id:         things["flyteidl2.secret.SecretIdentifier"].(*secretpb.SecretIdentifier),
		SecretSpec: &secretpb.SecretSpec{Value: &secretpb.SecretSpec_BinaryValue{BinaryValue: []byte("value")}},
	})
	require.NoError(t, err)
	_, err = appconnect.NewAppServiceClient(as("root"), url).Create(t.Context(), &app.CreateRequest{App: &app.App{
		Metadata: &app.Meta{Id: things["flyteidl2.app.Identifier"].(*app.Identifier)},
		Spec: &app.Spec{
			AppPayload: &app.Spec_Container{Container: &core.Container{Image: "web:1"}}, DesiredState: app.Spec_DESIRED_STATE_STOPPED,
		},
	}})
	require.NoError(t, err)
	integer := &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}}
	one := &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
		Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: 1}},
	}}}}
	_, err = artifactconnect.NewArtifactServiceClient(as("root"), url).CreateArtifact(t.Context(), &artifact.CreateArtifactRequest{
		ArtifactId: things["flyteidl2.artifact.ArtifactIdentifier"].(*artifact.ArtifactIdentifier),
		Spec:       &artifact.ArtifactSpec{Type: integer, Value: one},
	})
	require.NoError(t, err)
}

// answerTo makes a call and returns the first message of its answer as it is on the wire; nil if there is none.
func answerTo(t *testing.T, client connect.HTTPClient, url string, method protoreflect.MethodDescriptor, request *dynamicpb.Message) ([]byte, error) {
	t.Helper()
	c := connect.NewClient[dynamicpb.Message, emptypb.Empty](client, url+contracttest.ProcedureOf(method), connect.WithGRPC())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if !method.IsStreamingServer() {
		response, err := c.CallUnary(ctx, connect.NewRequest(request))
		if err != nil {
			return nil, err
		}
		return response.Msg.ProtoReflect().GetUnknown(), nil
	}
	stream, err := c.CallServerStream(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	defer stream.Close() //nolint:errcheck // it is cut off
	if !stream.Receive() {
		return nil, stream.Err()
	}
	return stream.Msg().ProtoReflect().GetUnknown(), nil
}

// h2 is a client for gRPC without TLS, as a person with a token.
type h2 struct {
	name   string
	client *http.Client
}

func newH2(t *testing.T, name string) h2 {
	t.Helper()
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return h2{name, &http.Client{Transport: transport}}
}

func (c h2) Do(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+c.name)
	return c.client.Do(request)
}

// TestNoAnswerHasAnotherTenantsName calls every procedure for people as someone with a role in another project, with everything of a
// tenant by which a request can name something, and without naming anything. No call that names the tenant succeeds, and no answer
// has its name.
func TestNoAnswerHasAnotherTenantsName(t *testing.T) {
	n := newNeighbours(t)
	url := n.url
	n.more(t, victim)
	ada, root := newH2(t, "ada"), newH2(t, "root")
	named, shown, all := 0, 0, 0
	lists := map[string]func() bool{} // whether an operator has the victim in an answer of a list
	for _, method := range contracttest.Methods() {
		procedure := contracttest.ProcedureOf(method)
		rule, _ := authz.RuleOf(procedure)
		if rule.By.Open() || !rule.By.Has(authz.User) || method.IsStreamingClient() {
			continue
		}
		requests := contracttest.Naming(method, victims())
		if request := ofEverything(method); request != nil {
			requests["everything"] = request
		}
		for at, request := range requests {
			resources, err := authz.ResourcesOf(procedure, request)
			require.NoError(t, err)
			about := false // whether the table says that the request is about the victim
			for _, resource := range resources {
				about = about || resource.Project == victim
			}
			answer, err := answerTo(t, ada, url, method, request)
			all++
			require.False(t, bytes.Contains(answer, []byte(victim)), "%s at %q tells of the other tenant: %q", procedure, at, answer)
			code := connect.CodeOf(err)
			if err != nil {
				require.NotContains(t, []connect.Code{connect.CodeInternal, connect.CodeUnknown}, code, "%s at %q: %v", procedure, at, err)
			}
			if about && !rule.Members {
				named++
				require.Equal(t, connect.CodeNotFound, code, "%s at %q: %v", procedure, at, err)
			}
			if rule.Action[len(rule.Action)-len(".view"):] == ".view" { // an operator has the right to it
				answer, _ := answerTo(t, root, url, method, request)
				seen := bytes.Contains(answer, []byte(victim))
				if seen {
					shown++
				}
				if before := lists[procedure]; rule.Lists {
					lists[procedure] = func() bool {
						answer, _ := answerTo(t, root, url, method, request)
						return seen || bytes.Contains(answer, []byte(victim)) || before != nil && before()
					}
				}
			}
		}
	}
	t.Logf("%d calls, %d of which name the other tenant; an operator sees it in %d answers", all, named, shown)
	require.Greater(t, named, 120)
	require.Greater(t, shown, 20, "the attacks name what exists")
	for procedure, seen := range lists { // some have it when a loop has counted it
		if elsewhere[procedure] == "" {
			require.Eventually(t, seen, time.Minute, 50*time.Millisecond, "%s: nothing of the victim is in the list, so that this shows nothing", procedure)
		}
	}
}

// elsewhere are the tests that show that a list is narrowed for which nothing is made here.
var elsewhere = map[string]string{
	"/flytebinary.insight.v1.AppInsightService/ListAppsOfRun":    "about a run, which is not found; apps: uses_test.go",
	"/flytebinary.insight.v1.CostService/GetCosts":               "nothing has used anything; runs: rollups_test.go",
	"/flytebinary.insight.v1.InsightService/GetClusterUse":       "runs: cluster_use_test.go",
	"/flytebinary.insight.v1.InsightService/ListClusterWaits":    "runs: cluster_use_test.go",
	"/flytebinary.insight.v1.InsightService/ListWaits":           "runs/store/lists: waiting_runs_test.go",
	"/flytebinary.insight.v1.NotificationService/ListDeliveries": "notifications: notifications_test.go",
	"/flytebinary.insight.v1.PoolInsightService/ListPools":       "TestAPolicyOfOneProject",
	"/flytebinary.insight.v1.StarService/ListStars":              "the caller's own; runs: stars_test.go",
	"/flytebinary.insight.v1.TaskHealthService/ListTaskHealth":   "about a project, which is not found; its answers name tasks alone",
}

// ofEverything is a request of a procedure that ranges over the organization, or looks for what is called like the failed run of the
// victim; nil if there is none.
func ofEverything(method protoreflect.MethodDescriptor) *dynamicpb.Message {
	request := dynamicpb.NewMessage(method.Input())
	for name, value := range map[protoreflect.Name]string{"org": "o", "organization": "o", "query": "failed"} {
		if field := method.Input().Fields().ByName(name); field != nil && field.Kind() == protoreflect.StringKind {
			request.Set(field, protoreflect.ValueOfString(value))
			return request
		}
	}
	return nil
}

// TestADenialSaysNothingOfExistence: who may see the project and not things of a kind gets the same words about one that exists and one that
// does not, for every procedure and each field by which a request names something.
func TestADenialSaysNothingOfExistence(t *testing.T) {
	callers := map[string]string{"olga": "outsider", "vera": policy.Viewer, "rick": policy.Runner, "cora": policy.Contributor}
	url := startWithRoles(t, func(c *configuration.Config) {
		c.Access.Roles = []access.RoleConfig{{Name: "outsider", Permissions: []string{"project.view"}}}
		for name, role := range callers {
			c.Access.Bindings = append(c.Access.Bindings, access.BindingConfig{User: name, Role: role, Project: victim})
		}
	})
	fillVictim(t, url)
	gives := map[string][]string{"outsider": {"project.view"}}
	for _, role := range policy.BuiltIn() {
		gives[role.Name] = policy.Expand(role)
	}
	answer := func(client connect.HTTPClient, method protoreflect.MethodDescriptor, request *dynamicpb.Message) string {
		_, err := answerTo(t, client, url, method, request)
		text := fmt.Sprint(err)
		for _, name := range []string{"first", "hello.main", "nightly", "web", "model", "password"} {
			text = strings.ReplaceAll(text, name+"x", name)
		}
		return text
	}
	compared, denied := map[string]int{}, 0
	for name, role := range callers {
		client := newH2(t, name)
		for _, method := range contracttest.Methods() {
			procedure := contracttest.ProcedureOf(method)
			rule, _ := authz.RuleOf(procedure)
			if rule.By.Open() || rule.Members || !rule.By.Has(authz.User) || method.IsStreamingClient() || slices.Contains(gives[role], rule.Action) {
				continue
			}
			missing := contracttest.Naming(method, thingsOf(victim, "x"))
			for at, request := range contracttest.Naming(method, victims()) {
				if at == "" || proto.Equal(request, missing[at]) {
					continue // it names no thing, or one without a name of its own
				}
				there := answer(client, method, request)
				require.Equal(t, there, answer(client, method, missing[at]), "%s at %q as %s", procedure, at, role)
				require.Regexp(t, "^(permission_denied|not_found): ", there, "%s at %q as %s", procedure, at, role)
				compared[rule.Action]++
				if strings.HasPrefix(there, "permission_denied") {
					denied++ // a caller who sees the project, so that the answer is not the one for people without roles
				}
			}
		}
	}
	t.Log(compared, denied)
	require.Greater(t, denied, 100, "the callers have their roles")
	for _, permission := range []string{"secret.view", "run.view", "task.view", "app.view", "artifact.view", "trigger.view", "action.view", "log.view", "data.view"} {
		require.Positive(t, compared[permission], permission)
	}
}

// TestTokensOfPagesAreNoRights continues the list of another tenant.
func TestTokensOfPagesAreNoRights(t *testing.T) {
	url := startWithRoles(t)
	root, ada := workflowconnect.NewRunServiceClient(as("root"), url), workflowconnect.NewRunServiceClient(as("ada"), url)
	for _, name := range []string{"second", "third", "fourth"} {
		require.NoError(t, createRun(t, root, runOf(victim, name)))
		require.NoError(t, createRun(t, root, runOf("mine", name)))
	}
	list := func(project, token string) *workflow.ListRunsRequest {
		request := &workflow.ListRunsRequest{
			Request: &common.ListRequest{Limit: 1, Token: token}, ScopeBy: &workflow.ListRunsRequest_Org{Org: "o"},
		}
		if project != "" {
			request.ScopeBy = &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: project, Domain: "development"}}
		}
		return request
	}
	for _, project := range []string{"", victim} {
		first, err := root.ListRuns(t.Context(), list(project, ""))
		require.NoError(t, err)
		require.NotEmpty(t, first.GetToken())
		for _, mine := range []string{"", "mine"} {
			next, err := ada.ListRuns(t.Context(), list(mine, first.GetToken()))
			if err == nil {
				require.Contains(t, []string{"", "mine"}, projectsOf(next.GetRuns()))
				continue
			}
			require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
		}
		_, err = ada.ListRuns(t.Context(), list(victim, first.GetToken()))
		require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
	}
}

// TestTokensOfPagesOfEveryListAreNoRights takes the tokens of pages of every list of another tenant, and continues lists of one's own
// with them.
func TestTokensOfPagesOfEveryListAreNoRights(t *testing.T) {
	url := startWithRoles(t)
	root, runs := newH2(t, "root"), workflowconnect.NewRunServiceClient(as("root"), url)
	for _, project := range []string{victim, "mine"} {
		for _, suffix := range []string{"", "2", "3"} {
			makeThings(t, url, thingsOf(project, suffix))
			if suffix != "" {
				require.NoError(t, createRun(t, runs, runOf(project, "first"+suffix)))
			}
		}
	}
	ada, lists := newH2(t, "ada"), map[string]int{}
	for _, method := range contracttest.Methods() {
		procedure := contracttest.ProcedureOf(method)
		rule, _ := authz.RuleOf(procedure)
		if rule.By.Open() || !rule.By.Has(authz.User) || method.IsStreamingClient() || method.IsStreamingServer() || pageOf(dynamicpb.NewMessage(method.Input())) == nil {
			continue
		}
		for _, first := range contracttest.Naming(method, thingsOf(victim, "")) {
			setPage(first, 1, "")
			answer, err := answerTo(t, root, url, method, first)
			token := tokenIn(t, method, answer)
			if err != nil || token == "" {
				continue
			}
			lists[procedure]++
			for at, mine := range contracttest.Naming(method, thingsOf("mine", "")) {
				setPage(mine, 1, token)
				answer, err := answerTo(t, ada, url, method, mine)
				require.False(t, bytes.Contains(answer, []byte(victim)), "%s at %q tells of the other tenant: %q", procedure, at, answer)
				if err != nil { // a token is a position, so a list over all places may continue from it with what its caller may see
					require.NotContains(t, []connect.Code{connect.CodeInternal, connect.CodeUnknown}, connect.CodeOf(err), "%s at %q: %v", procedure, at, err)
				}
			}
		}
	}
	t.Logf("lists with tokens: %v", lists)
	require.Greater(t, len(lists), 5)
}

// pageOf is the message that says which page a request asks for; nil if it asks for none.
func pageOf(request *dynamicpb.Message) protoreflect.Message {
	fields := request.Descriptor().Fields()
	switch in := fields.ByName("request"); {
	case in != nil && in.Message() != nil && in.Message().FullName() == "flyteidl2.common.ListRequest":
		return request.Mutable(in).Message()
	case fields.ByName("token") != nil && fields.ByName("limit") != nil:
		return request
	default:
		return nil
	}
}

// setPage asks for a page.
func setPage(request *dynamicpb.Message, limit uint32, token string) {
	page := pageOf(request)
	at := page.Descriptor().Fields().ByName("limit")
	if at.Kind() == protoreflect.Int32Kind {
		page.Set(at, protoreflect.ValueOfInt32(int32(limit)))
	} else {
		page.Set(at, protoreflect.ValueOfUint32(limit))
	}
	page.Set(page.Descriptor().Fields().ByName("token"), protoreflect.ValueOfString(token))
}

// tokenIn is the token of the next page in an answer.
func tokenIn(t *testing.T, method protoreflect.MethodDescriptor, answer []byte) string {
	t.Helper()
	field := method.Output().Fields().ByName("token")
	if field == nil {
		return ""
	}
	response := dynamicpb.NewMessage(method.Output())
	require.NoError(t, proto.Unmarshal(answer, response))
	return response.Get(field).String()
}
