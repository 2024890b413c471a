package rpc_test

import (
	"context"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Story R21: no one was authenticated, internal calls were open to everybody, and an empty request made the server panic.
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

func (ada) Authenticate(_ context.Context, request authz.Request) (authz.Identity, error) {
	switch request.Header.Get("Authorization") {
	case "":
		return authz.Identity{}, nil
	case "Bearer ada":
		return authz.Identity{Kind: authz.User, Subject: "ada"}, nil
	}
	return authz.Identity{}, rpc.Unauthenticated("the token is not valid")
}

// known admits only users and records what it was asked.
type known struct{ asked []authz.Rule }

func (k *known) Authorise(_ context.Context, identity authz.Identity, rule authz.Rule, _ authz.Resource) (authz.Scope, error) {
	k.asked = append(k.asked, rule)
	if identity.Kind != authz.User {
		return authz.Scope{}, rpc.Unauthenticated("say who you are")
	}
	return authz.Everything(), nil
}

func TestAuthenticationAndAuthorisation(t *testing.T) {
	policy := &known{}
	var seen authz.Identity
	h := mux(rpc.Chain{Authenticator: ada{}, Authoriser: policy}, behaviour{details: func(ctx context.Context) error {
		seen = authz.IdentityFrom(ctx)
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
	require.Equal(t, "run.view", policy.asked[0].Action)

	// In one process a service acts on behalf of its caller, and by itself where it says so.
	local := workflowconnect.NewRunServiceClient(rpc.InProcess(h), rpc.InProcessURL)
	for _, ctx := range []context.Context{authz.WithIdentity(t.Context(), authz.Identity{}), t.Context()} {
		_, err := local.GetRunDetails(ctx, someRun)
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
	}
	_, err := local.GetRunDetails(authz.AsService(t.Context(), "timers"), someRun)
	require.NoError(t, err)
	require.Equal(t, authz.Identity{Kind: authz.Service, Subject: "timers"}, seen)
	policy.asked = nil
	_, err = local.GetRunDetails(authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.User, Subject: "eve"}), someRun)
	require.NoError(t, err)
	require.Equal(t, "eve", seen.Subject)
	require.Len(t, policy.asked, 1, "a call on behalf of somebody is decided anew")
}
