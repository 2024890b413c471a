package authz_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// TestAControllerActsForItsOwnCluster calls every procedure as the controller of a cluster, about its own cluster, about another one
// and about none. Each procedure that controllers may call names the cluster, or the table says how its handler keeps them to theirs.
func TestAControllerActsForItsOwnCluster(t *testing.T) {
	caller := is{Kind: authz.Cluster, Subject: "cluster:east", Cluster: "east"}
	named, kept := 0, 0
	for _, method := range methods(t) {
		name := procedureOf(method)
		rule, _ := authz.RuleOf(name)
		handled := false
		h := reachable(method, func() { handled = true }, rpc.Interceptors(rpc.Chain{Authenticator: caller, Authoriser: matrixPolicy()}))
		call := func(request *dynamicpb.Message) (connect.Code, bool) {
			handled = false
			code := callOver(t, h, name, request)
			return code, handled
		}
		fields, how := authz.ClusterAt(name)
		switch {
		case rule.By.Open():
			continue
		case !rule.By.Has(authz.Cluster):
			require.Empty(t, fields+how, "%s is not for controllers", name)
			code, handled := call(dynamicpb.NewMessage(method.Input()))
			require.Equal(t, connect.CodePermissionDenied, code, name)
			require.False(t, handled, name)
			continue
		}
		require.NotEmpty(t, fields+how, "%s is for controllers: say where it names their cluster, with ofCluster, or how the handler keeps them to theirs, with kept", name)
		if fields == "" {
			kept++
			continue
		}
		named++
		for _, cluster := range []string{"west", ""} {
			request := dynamicpb.NewMessage(method.Input())
			fillThrough(request, strings.Split(fields, "."), cluster)
			code, handled := call(request)
			require.Equal(t, connect.CodePermissionDenied, code, "%s about cluster %q", name, cluster)
			require.False(t, handled, name)
		}
		request := dynamicpb.NewMessage(method.Input())
		fillThrough(request, strings.Split(fields, "."), "east")
		code, _ := call(request)
		require.NotContains(t, []connect.Code{connect.CodePermissionDenied, connect.CodeNotFound, connect.CodeUnauthenticated}, code, "%s about its own", name)
	}
	require.Equal(t, 9, named, "procedures that name the cluster")
	require.Equal(t, 6, kept, "procedures whose handlers look")
}

// fillThrough sets the text at the end of a path, through lists too, each of which gets one element.
func fillThrough(message protoreflect.Message, path []string, text string) {
	field := message.Descriptor().Fields().ByName(protoreflect.Name(path[0]))
	switch {
	case len(path) == 1:
		message.Set(field, protoreflect.ValueOfString(text))
	case field.IsList():
		fillThrough(message.Mutable(field).List().AppendMutable().Message(), path[1:], text)
	default:
		fillThrough(message.Mutable(field).Message(), path[1:], text)
	}
}
