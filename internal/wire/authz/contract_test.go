package authz_test

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/contracttest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Story R21: no one was authenticated, internal calls were open to everybody, and an empty request made the server panic.
func TestEveryProcedureHasARule(t *testing.T) {
	for _, method := range methods(t) {
		rule, ok := authz.RuleOf(procedureOf(method))
		require.True(t, ok, "%s has no rule", method.FullName())
		require.NotZero(t, rule.By, method.FullName())
		require.Regexp(t, `^[a-z]+\.[a-z]+$`, rule.Action, method.FullName())
	}
	for _, name := range []string{"Check", "Watch"} {
		rule, _ := authz.RuleOf("/grpc.health.v1.Health/" + name)
		require.True(t, rule.By.Open())
	}

	for _, service := range []string{
		"flyteidl2.workflow.InternalRunService", "flytebinary.engine.v1.EngineService",
		"flyteidl2.workflow.EventsProxyService", "flytebinary.engine.v1.PodLogService",
	} {
		descriptor, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		require.NoError(t, err)
		methods := descriptor.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			rule, _ := authz.RuleOf("/" + service + "/" + string(methods.Get(i).Name()))
			require.True(t, rule.By.Internal(), methods.Get(i).FullName())
		}
	}
}

// methods are all procedures of the contract.
func methods(t *testing.T) []protoreflect.MethodDescriptor {
	t.Helper()
	all := contracttest.Methods()
	require.Greater(t, len(all), 100, "the walk sees the contract")
	return all
}

func procedureOf(method protoreflect.MethodDescriptor) string {
	return contracttest.ProcedureOf(method)
}

// alongside are identifiers that are not the resource of their request, by the end of their path, which begins with the method.
var beside = map[string]string{
	"CreateBinding.scope":            "read as the place of the binding",
	"DeleteBinding.scope":            "as above",
	"spec.inputs.items.app_id":       "an app that an app reads from; decided when the app asks it",
	"_by.user":                       "who did it, which counts only from services",
	"_by.application":                "as above",
	"principal.user":                 "as above",
	"principal.application":          "as above",
	"recovered_from":                 "must lie in the place of the action that recovers",
	"related_to":                     "must lie in the place of the new run",
	"source_action_attempt":          "where a cached output came from, as services report it",
	"task.id":                        "which task an action says it runs; its spec comes along",
	"task_template.id":               "which task a spec says it is",
	"spec.source.task_action.action": "where an artifact says it came from",
	"source_identifier":              "which task a cached output says it is of",
	"task_execution_id.task_id":      "which task a connector works for",
	"execution_id":                   "which execution a connector works for",
	"image_build_run":                "which run built the image of a task",
	"identity.cluster":               "where something runs",
	"cluster":                        "where something runs",
	"queue":                          "where something waits",
	"roles.scope":                    "where a key gets a role; the handler gives no more than the caller has",
}

// TestEveryRequestNamesItsResource walks the requests: each path in the table exists, and each other identifier is
// known not to be a resource. A new identifier fails it.
func TestEveryRequestNamesItsResource(t *testing.T) {
	for _, method := range methods(t) {
		paths, none := authz.TargetOf(procedureOf(method))
		about := slices.ContainsFunc(paths, func(path string) bool { return authz.PermissionAt(procedureOf(method), path) == "" })
		require.Equal(t, none == "", about, "%s needs either the paths of its resources or the reason why it has none", method.FullName())
		_, err := authz.ResourcesOf(procedureOf(method), dynamicpb.NewMessage(method.Input()))
		require.NoError(t, err)
		if rule, _ := authz.RuleOf(procedureOf(method)); rule.By.Internal() {
			continue // services are trusted with whatever else they name
		}
		for _, path := range identifiers(method.Input(), "", nil) {
			known := slices.Contains(paths, path)
			for end := range beside {
				known = known || strings.HasSuffix(string(method.FullName())+"."+path, end)
			}
			require.True(t, known, "%s names something at %s that is not authorised", method.FullName(), path)
		}
	}
}

// identifiers are the paths of the messages below one that name something.
func identifiers(message protoreflect.MessageDescriptor, prefix string, above []protoreflect.FullName) (paths []string) {
	if slices.Contains(above, message.FullName()) || strings.HasPrefix(string(message.FullName()), "google.") {
		return nil
	}
	above = append(above, message.FullName())
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		if field.Message() == nil || field.IsMap() {
			continue
		}
		path := prefix + string(field.Name())
		if authz.HasShape(field.Message().FullName()) {
			paths = append(paths, path)
			continue
		}
		paths = append(paths, identifiers(field.Message(), path+".", above)...)
	}
	return paths
}

// fill sets the text at the end of a path and creates the messages on the way.
func fill(message protoreflect.Message, path, text string) {
	name, rest, more := strings.Cut(path, ".")
	field := message.Descriptor().Fields().ByName(protoreflect.Name(name))
	switch {
	case !more:
		message.Set(field, protoreflect.ValueOfString(text))
	case field.IsList():
		fill(message.Mutable(field).List().AppendMutable().Message(), rest, text)
	default:
		fill(message.Mutable(field).Message(), rest, text)
	}
}

// about is the message at the end of a path.
func about(message protoreflect.MessageDescriptor, path string) protoreflect.MessageDescriptor {
	if path == "" {
		return message
	}
	for name := range strings.SplitSeq(path, ".") {
		message = message.Fields().ByName(protoreflect.Name(name)).Message()
	}
	return message
}

// recording denies everything and records what it was asked.
type recording struct {
	asked       []authz.Resource
	permissions []string
}

func (r *recording) Authorise(_ context.Context, _ authz.Identity, rule authz.Rule, resource authz.Resource) (authz.Scope, error) {
	r.asked, r.permissions = append(r.asked, resource), append(r.permissions, rule.Action)
	return authz.Scope{}, rpc.PermissionDenied("no")
}

// dynamicHandler serves a procedure of any form, of which no call may reach the handler.
func dynamicHandler(t *testing.T, method protoreflect.MethodDescriptor, options ...connect.HandlerOption) http.Handler {
	return reachable(method, func() { t.Errorf("%s was handled", method.FullName()) }, options...)
}

// reachable serves a procedure of any form.
func reachable(method protoreflect.MethodDescriptor, handled func(), options ...connect.HandlerOption) http.Handler {
	options = append(options, connect.WithSchema(method), connect.WithRequestInitializer(func(_ connect.Spec, message any) error {
		*message.(*dynamicpb.Message) = *dynamicpb.NewMessage(method.Input())
		return nil
	}))
	reached := func() error { handled(); return nil }
	switch name := procedureOf(method); {
	case method.IsStreamingClient():
		return connect.NewBidiStreamHandler(name, func(_ context.Context, s *connect.BidiStream[dynamicpb.Message, emptypb.Empty]) error {
			if _, err := s.Receive(); err != nil {
				return err
			}
			return reached()
		}, options...)
	case method.IsStreamingServer():
		return connect.NewServerStreamHandler(name, func(context.Context, *connect.Request[dynamicpb.Message], *connect.ServerStream[emptypb.Empty]) error {
			return reached()
		}, options...)
	default:
		return connect.NewUnaryHandler(name, func(context.Context, *connect.Request[dynamicpb.Message]) (*connect.Response[emptypb.Empty], error) {
			return connect.NewResponse(&emptypb.Empty{}), reached()
		}, options...)
	}
}

// TestTheAuthoriserSeesEveryResource sends each procedure a request with one project at each place that the table
// names, through the chain, and expects it in the question.
func TestTheAuthoriserSeesEveryResource(t *testing.T) {
	const marker = "marked-project"
	asked, marked := 0, 0
	for _, method := range methods(t) {
		rule, _ := authz.RuleOf(procedureOf(method))
		paths, _ := authz.TargetOf(procedureOf(method))
		requests := map[string]proto.Message{}
		for _, path := range paths {
			project := authz.ProjectField(about(method.Input(), path).FullName())
			if project == "" {
				continue // a thing of the installation, such as a domain or a cluster
			}
			if path != "" {
				project = path + "." + project
			}
			request := dynamicpb.NewMessage(method.Input())
			fill(request, project, marker)
			requests[path] = request
		}
		if len(requests) == 0 {
			requests["nothing"] = dynamicpb.NewMessage(method.Input())
		}
		for path, request := range requests {
			var resources []authz.Resource
			if !rule.Asks(authz.User) {
				// The authoriser is not asked; what it would see is known all the same.
				var err error
				resources, err = authz.ResourcesOf(procedureOf(method), request)
				require.NoError(t, err)
			} else {
				policy := &recording{}
				h := dynamicHandler(t, method, rpc.Interceptors(rpc.Chain{Authoriser: policy}))
				require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(send(t, h, method, request)), method.FullName())
				resources = policy.asked
				require.Equal(t, []string{cmp.Or(authz.PermissionAt(procedureOf(method), path), rule.Action)}, policy.permissions, method.FullName())
				asked++
			}
			require.Len(t, resources, 1, "%s at %q", method.FullName(), path)
			if path != "nothing" {
				require.Equal(t, marker, resources[0].Project, "%s at %q", method.FullName(), path)
				marked++
			} else {
				require.Empty(t, resources[0].Project)
			}
		}
	}
	require.Greater(t, asked, 80)
	require.Greater(t, marked, 100)
}

// send makes one call of any form and returns its error.
func send(t *testing.T, h http.Handler, method protoreflect.MethodDescriptor, request proto.Message) error {
	t.Helper()
	client := connect.NewClient[dynamicpb.Message, emptypb.Empty](rpc.InProcess(h), rpc.InProcessURL+procedureOf(method))
	message := request.(*dynamicpb.Message)
	if !method.IsStreamingServer() {
		_, err := client.CallUnary(t.Context(), connect.NewRequest(message))
		return err
	}
	stream, err := client.CallServerStream(t.Context(), connect.NewRequest(message))
	require.NoError(t, err)
	require.False(t, stream.Receive())
	return stream.Err()
}

func TestResources(t *testing.T) {
	action := &common.ActionIdentifier{Run: &common.RunIdentifier{Org: "o", Project: "p", Domain: "d", Name: "r"}, Name: "a1"}
	other := &common.ActionIdentifier{Run: &common.RunIdentifier{Project: "q", Domain: "d", Name: "r"}, Name: "a0"}
	event := func(ids ...*common.ActionIdentifier) *workflow.RecordActionEventsRequest {
		request := &workflow.RecordActionEventsRequest{}
		for _, id := range ids {
			request.Events = append(request.Events, &workflow.ActionEvent{Id: id})
		}
		return request
	}
	one := authz.Resource{Kind: "run", Org: "o", Project: "p", Domain: "d", Name: "r", Action: "a1"}
	two := authz.Resource{Kind: "run", Project: "q", Domain: "d", Name: "r", Action: "a0"}
	for name, c := range map[string]struct {
		procedure string
		request   proto.Message
		want      []authz.Resource
	}{
		"an action":   {"/flyteidl2.workflow.RunService/GetActionDetails", &workflow.GetActionDetailsRequest{ActionId: action}, []authz.Resource{one}},
		"a batch":     {"/flyteidl2.workflow.InternalRunService/RecordActionEvents", event(action, other, action, other, other), []authz.Resource{one, two}},
		"a gap":       {"/flyteidl2.workflow.InternalRunService/RecordActionEvents", event(action, &common.ActionIdentifier{}), []authz.Resource{one, {Kind: "run"}}},
		"none at all": {"/flyteidl2.workflow.RunService/GetActionDetails", &workflow.GetActionDetailsRequest{}, []authz.Resource{{}}},
		"an organisation": {
			"/flyteidl2.workflow.RunService/ListRuns", &workflow.ListRunsRequest{ScopeBy: &workflow.ListRunsRequest_Org{Org: "o"}}, []authz.Resource{{Org: "o"}},
		},
		"a project": {"/flyteidl2.project.ProjectService/GetProject", &project.GetProjectRequest{Id: "p"}, []authz.Resource{{Kind: "project", Project: "p"}}},
		"a trigger": {
			"/flyteidl2.trigger.TriggerService/DeleteTriggers",
			&trigger.DeleteTriggersRequest{Names: []*common.TriggerName{{Project: "p", Domain: "d", Name: "t", TaskName: "x"}}},
			[]authz.Resource{{Kind: "trigger", Project: "p", Domain: "d", Name: "t"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := authz.ResourcesOf(c.procedure, c.request)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := authz.ResourcesOf("/no.Such/Procedure", action)
	require.Equal(t, rpc.KindPermissionDenied, rpc.KindOf(err))
	require.Equal(t, "run p/d/r action a1", one.String())
	require.Equal(t, "place of every project", authz.Resource{}.String())
	require.Equal(t, "secret p/d", authz.Resource{Kind: "secret", Project: "p", Domain: "d"}.String())
}
