package authz_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// nothingStored is a source without roles and bindings of its own.
type nothingStored struct{}

func (nothingStored) PolicyVersion(context.Context) (int64, error) { return 1, nil }
func (nothingStored) Roles(context.Context) ([]store.Role, error)  { return nil, nil }
func (nothingStored) BindingsOf(context.Context, []store.Member) ([]store.Binding, error) {
	return nil, nil
}
func (nothingStored) OwnerOf(context.Context, string) (store.KeyOwner, error) {
	return store.KeyOwner{Service: true}, nil
}

// ownProject is the project in which the callers of the matrix have their role.
const ownProject, otherProject = "own", "other"

// matrixPolicy binds each role to a person and to a key of its name, in their project; the operator everywhere.
func matrixPolicy() *policy.Policy {
	var config policy.Config
	for _, role := range policy.BuiltIn() {
		place := ownProject
		if role.Name == policy.Operator {
			place = ""
		}
		for _, kind := range []store.MemberKind{store.UserMember, store.KeyMember} {
			config.Bindings = append(config.Bindings, store.Binding{Member: store.Member{Kind: kind, Name: role.Name}, Role: role.Name, Project: place})
		}
	}
	return policy.New(config, policy.Deps{Source: nothingStored{}, Changed: func() {}, Clock: clock.System{}, Logger: zerolog.Nop()})
}

// is is an authenticator with one caller.
type is authz.Identity

func (i is) Authenticate(context.Context, authz.Request) (authz.Identity, error) {
	return authz.Identity(i), nil
}

// unbound is a caller without a role.
const unbound = "unbound"

// TestMatrix calls every procedure as every kind of caller with every role, about its own project, about another one and about
// none. What it expects follows from the table, the roles and the rules below, not from the policy.
func TestMatrix(t *testing.T) {
	decides := matrixPolicy()
	roles := map[string][]string{unbound: nil}
	for _, role := range policy.BuiltIn() {
		roles[role.Name] = policy.Expand(role)
	}
	counts := map[connect.Code]int{}
	for _, method := range methods(t) {
		name := procedureOf(method)
		rule, _ := authz.RuleOf(name)
		handled := false
		for _, kind := range allKinds {
			subjects := []string{"somebody"}
			if kind == authz.User || kind == authz.Key {
				subjects = []string{unbound, policy.Viewer, policy.Runner, policy.Contributor, policy.Admin, policy.Operator}
			}
			for _, subject := range subjects {
				caller := is{Kind: kind, Subject: subject}
				if kind == authz.Task {
					caller.Attempt = &authz.Attempt{Project: ownProject, Domain: "d", Run: "r", Action: "a0", Number: 1}
				}
				h := reachable(method, func() { handled = true }, rpc.Interceptors(rpc.Chain{Authenticator: caller, Authoriser: decides}))
				for about, request := range requestsOf(t, method) {
					resources, err := authz.ResourcesOf(name, request)
					require.NoError(t, err)
					handled = false
					code := callOver(t, h, name, request)
					what := fmt.Sprintf("%s as %s %s about %s: %v", name, kind, subject, about, resources)
					counts[code]++
					if kind == authz.Task && rule.By.Has(kind) && !rule.By.Open() {
						// Tasks have no roles. What matters here is that none reaches another project.
						if slices.ContainsFunc(resources, func(r authz.Resource) bool { return r.Project == otherProject }) && !rule.Members {
							require.Contains(t, []connect.Code{connect.CodeNotFound, connect.CodePermissionDenied}, code, what)
						}
						continue
					}
					want := expected(rule, kind, resources, roles[subject], subject)
					if want != 0 {
						require.Equal(t, want, code, what)
						require.False(t, handled, what)
						continue
					}
					require.NotContains(t, []connect.Code{connect.CodeNotFound, connect.CodePermissionDenied, connect.CodeUnauthenticated}, code, what)
				}
			}
		}
	}
	t.Logf("calls by code: %v", counts)
	require.Greater(t, counts[0]+counts[connect.CodeInvalidArgument], 2000, "allowed; most requests of the matrix are incomplete")
	require.Greater(t, counts[connect.CodeUnauthenticated], 300)
	require.Greater(t, counts[connect.CodeNotFound], 500)
	require.Greater(t, counts[connect.CodePermissionDenied], 500)
}

// expected is the code with which a call is refused; 0 if it is allowed.
func expected(rule authz.Rule, kind authz.Kind, resources []authz.Resource, permissions []string, role string) connect.Code {
	switch {
	case rule.By.Open():
		return 0
	case !rule.By.Has(kind):
		return connect.CodePermissionDenied
	case kind == authz.Anonymous:
		return connect.CodeUnauthenticated
	case kind != authz.User && kind != authz.Key:
		return 0 // a part of the installation
	}
	for _, resource := range resources {
		nameless := rule.Nameless && resource.Project == "" && resource.Kind == ""
		takes, lists, members := rule.Action, rule.Lists, rule.Members || nameless
		if resource.Permission != "" {
			takes, lists, members = resource.Permission, false, false
		}
		has := slices.Contains(permissions, takes)
		switch {
		case members && (role != unbound || takes == "identity.view" || takes == "identity.update"): // about themselves, everyone may ask and change
		case members:
			return connect.CodePermissionDenied
		case role == policy.Operator:
		case resource.Project == "" && lists: // narrowed to what the caller may see, which may be nothing
		case resource.Project == ownProject && has:
		case resource.Project == otherProject || resource.Project == ownProject && role == unbound:
			return connect.CodeNotFound
		default:
			return connect.CodePermissionDenied
		}
	}
	return 0
}

// requestsOf are requests of a procedure with a project at each place that the table names, and one without any.
func requestsOf(t *testing.T, method protoreflect.MethodDescriptor) map[string]*dynamicpb.Message {
	t.Helper()
	requests := map[string]*dynamicpb.Message{"nothing": dynamicpb.NewMessage(method.Input())}
	paths, _ := authz.TargetOf(procedureOf(method))
	for _, path := range paths {
		field := authz.ProjectField(about(method.Input(), path).FullName())
		if field == "" {
			continue
		}
		if path != "" {
			field = path + "." + field
		}
		for _, project := range []string{ownProject, otherProject} {
			request := dynamicpb.NewMessage(method.Input())
			fill(request, field, project)
			requests[project+" at "+path] = request
		}
	}
	return requests
}

// callOver makes a call of any form with gRPC, as a caller from the network does, and returns its code.
func callOver(t *testing.T, h http.Handler, procedure string, message proto.Message) connect.Code {
	t.Helper()
	body, err := proto.Marshal(message)
	require.NoError(t, err)
	frame := append([]byte{0}, binary.BigEndian.AppendUint32(nil, uint32(len(body)))...)
	request := httptest.NewRequest(http.MethodPost, procedure, bytes.NewReader(append(frame, body...)))
	request.Header.Set("Content-Type", "application/grpc")
	request.ProtoMajor, request.ProtoMinor = 2, 0
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	var code connect.Code
	text := recorder.Result().Trailer.Get("Grpc-Status")
	if text == "" {
		text = recorder.Result().Header.Get("Grpc-Status")
	}
	require.NotEmpty(t, text, procedure)
	_, err = fmt.Sscan(text, (*uint32)(&code))
	require.NoError(t, err)
	return code
}
