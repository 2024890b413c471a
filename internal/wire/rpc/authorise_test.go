package rpc_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	_ "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/org"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	_ "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Story R21: nobody was authenticated, internal calls were open to everybody, and an empty request made the server panic.
func TestEveryProcedureHasARule(t *testing.T) {
	procedures := 0
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		name := string(file.Package())
		if !strings.HasPrefix(name, "flyteidl2.") && !strings.HasPrefix(name, "flytebinary.") && name != "grpc.health.v1" {
			return true
		}
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				if name == "grpc.health.v1" && method.Name() == "List" {
					continue // not served
				}
				procedures++
				rule, ok := rpc.RuleOf("/" + string(service.FullName()) + "/" + string(method.Name()))
				require.True(t, ok, "%s has no rule", method.FullName())
				require.NotZero(t, rule.Class, method.FullName())
				require.Regexp(t, `^[a-z]+\.[a-z]+$`, rule.Action, method.FullName())
			}
		}
		return true
	})
	require.Greater(t, procedures, 100, "the walk sees the contract")

	for _, service := range []string{
		"flyteidl2.workflow.InternalRunService", "flytebinary.engine.v1.EngineService",
		"flyteidl2.workflow.EventsProxyService", "flytebinary.engine.v1.PodLogService",
	} {
		descriptor, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service))
		require.NoError(t, err)
		methods := descriptor.(protoreflect.ServiceDescriptor).Methods()
		for i := range methods.Len() {
			rule, _ := rpc.RuleOf("/" + service + "/" + string(methods.Get(i).Name()))
			require.Equal(t, rpc.ClassInternal, rule.Class, methods.Get(i).FullName())
		}
	}
}

// Story R21: nobody was authenticated, internal calls were open to everybody, and an empty request made the server panic.
func TestInternalProcedures(t *testing.T) {
	h := mux(rpc.Chain{InternalToken: "right"}, behaviour{})
	url := serve(t, h)
	request := &enginev1.GetAssignmentsRequest{Uids: []int64{1}}
	code := func(base string, transport connect.HTTPClient, options ...connect.ClientOption) connect.Code {
		_, err := enginev1connect.NewEngineServiceClient(transport, base, options...).GetAssignments(t.Context(), request)
		if err == nil {
			return 0
		}
		return connect.CodeOf(err)
	}
	require.Equal(t, connect.CodePermissionDenied, code(url, http.DefaultClient))
	require.Equal(t, connect.CodePermissionDenied, code(url, http.DefaultClient, rpc.WithInternalToken("wrong")))
	require.Zero(t, code(url, http.DefaultClient, rpc.WithInternalToken("right")))
	require.Zero(t, code(rpc.InProcessURL, rpc.InProcess(h)))

	// Without a configured credential no header grants access.
	closed := serve(t, mux(rpc.Chain{}, behaviour{}))
	require.Equal(t, connect.CodePermissionDenied, code(closed, http.DefaultClient, rpc.WithInternalToken("")))
	require.Equal(t, connect.CodePermissionDenied, code(closed, http.DefaultClient, rpc.WithInternalToken("x")))
}

// ada accepts one token.
type ada struct{}

func (ada) Authenticate(_ context.Context, header http.Header) (rpc.Identity, error) {
	switch header.Get("Authorization") {
	case "":
		return rpc.Identity{}, nil
	case "Bearer ada":
		return rpc.Identity{Caller: rpc.CallerUser, Subject: "ada"}, nil
	}
	return rpc.Identity{}, rpc.Unauthenticated("the token is not valid")
}

// known admits only users and records what it was asked.
type known struct{ asked []rpc.Rule }

func (k *known) Authorise(_ context.Context, identity rpc.Identity, rule rpc.Rule, _ rpc.Resource) (rpc.Scope, error) {
	k.asked = append(k.asked, rule)
	if identity.Caller != rpc.CallerUser {
		return rpc.Scope{}, rpc.Unauthenticated("say who you are")
	}
	return rpc.Everything(), nil
}

func TestAuthenticationAndAuthorisation(t *testing.T) {
	policy := &known{}
	var seen rpc.Identity
	h := mux(rpc.Chain{Authenticator: ada{}, Authoriser: policy}, behaviour{details: func(ctx context.Context) error {
		seen = rpc.IdentityFrom(ctx)
		return nil
	}})
	url := serve(t, h)
	get := func(token string) connect.Code {
		ctx, call := connect.NewClientContext(t.Context())
		if token != "" {
			call.RequestHeader().Set("Authorization", token)
		}
		_, err := workflowconnect.NewRunServiceClient(http.DefaultClient, url).GetRunDetails(ctx, someRun)
		if err == nil {
			return 0
		}
		return connect.CodeOf(err)
	}
	require.Equal(t, connect.CodeUnauthenticated, get(""))
	require.Equal(t, connect.CodeUnauthenticated, get("Bearer eve"))
	require.Zero(t, get("Bearer ada"))
	require.Equal(t, "ada", seen.Subject)
	require.Equal(t, rpc.Rule{Class: rpc.ClassTask, Action: "run.view"}, policy.asked[0])

	// In one process a service acts on behalf of its caller, and by itself where it says so.
	local := workflowconnect.NewRunServiceClient(rpc.InProcess(h), rpc.InProcessURL)
	for _, ctx := range []context.Context{rpc.WithIdentity(t.Context(), rpc.Identity{}), t.Context()} {
		_, err := local.GetRunDetails(ctx, someRun)
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
	}
	_, err := local.GetRunDetails(rpc.AsService(t.Context(), "timers"), someRun)
	require.NoError(t, err)
	require.Equal(t, rpc.Identity{Caller: rpc.CallerInternal, Subject: "timers"}, seen)
	policy.asked = nil
	_, err = local.GetRunDetails(rpc.WithIdentity(t.Context(), rpc.Identity{Caller: rpc.CallerUser, Subject: "eve"}), someRun)
	require.NoError(t, err)
	require.Equal(t, "eve", seen.Subject)
	require.Len(t, policy.asked, 1, "a call on behalf of somebody is decided anew")
}
