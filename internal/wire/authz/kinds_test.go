package authz_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

var allKinds = []authz.Kind{authz.Anonymous, authz.User, authz.Key, authz.Task, authz.Worker, authz.Cluster, authz.Service}

// always is an authenticator to which every caller is of one kind.
type always authz.Kind

func (a always) Authenticate(context.Context, authz.Request) (authz.Identity, error) {
	return authz.Identity{Kind: authz.Kind(a), Subject: "somebody"}, nil
}

// unread is a body that must not be read.
type unread struct{ read bool }

func (u *unread) Read([]byte) (int, error) { u.read = true; return 0, errors.New("nothing here") }
func (u *unread) Close() error             { return nil }

// TestTheTableSaysWhichKindsMayCall sends a call of each kind of caller to each procedure. A kind that the table does not
// name is refused before the body is read; the others come as far as the body.
func TestTheTableSaysWhichKindsMayCall(t *testing.T) {
	refused, admitted := 0, 0
	for _, method := range methods(t) {
		rule, _ := authz.RuleOf(procedureOf(method))
		require.NotEmpty(t, rule.By.String(), method.FullName())
		for _, kind := range allKinds {
			h := dynamicHandler(t, method, rpc.Interceptors(rpc.Chain{Authenticator: always(kind)}))
			body := &unread{}
			request := httptest.NewRequest(http.MethodPost, procedureOf(method), body)
			request.Header.Set("Content-Type", "application/grpc")
			recorder := httptest.NewRecorder()
			request.ProtoMajor, request.ProtoMinor = 2, 0
			h.ServeHTTP(recorder, request)
			code := recorder.Result().Trailer.Get("Grpc-Status")
			if !rule.By.Has(kind) {
				require.Equal(t, "7", code, "%s by %s is permission_denied", method.FullName(), kind)
				require.False(t, body.read, "%s by %s is refused before its body is read", method.FullName(), kind)
				refused++
				continue
			}
			require.NotEqual(t, "7", code, "%s by %s", method.FullName(), kind)
			require.True(t, body.read, "%s by %s", method.FullName(), kind)
			admitted++
		}
	}
	require.Greater(t, refused, 300)
	require.Greater(t, admitted, 400)
}

// TestKindsByName pins who may do what is dangerous to open by mistake.
func TestKindsByName(t *testing.T) {
	for procedure, want := range map[string]string{
		"/flyteidl2.secret.SecretService/CreateSecret":               "anonymous, user, key, service",
		"/flyteidl2.settings.SettingsService/UpdateSettings":         "anonymous, user, key, service",
		"/flyteidl2.workflow.RunService/CreateRun":                   "anonymous, user, key, task, service",
		"/flytebinary.engine.v1.SecretValueService/GetSecretValues":  "cluster, service",
		"/flytebinary.worker.v1.WorkerService/Work":                  "worker",
		"/flytebinary.engine.v1.TriggerRunService/StartTriggeredRun": "service",
		"/flyteidl2.auth.AuthMetadataService/GetOAuth2Metadata":      "everybody",
		"/flyteidl2.workflow.RunService/NoSuchProcedure":             "",
		"/flyteidl2.workflow.InternalRunService/RecordActionEvents":  "service",
		"/flyteidl2.actions.ActionsService/Enqueue":                  "anonymous, user, key, task, service",
		"/flytebinary.engine.v1.WorkerFleetService/IssueWorkerToken": "cluster, service",
		"/flyteidl2.cacheservice.CacheService/Put":                   "service",
		"/flyteidl2.connector.AsyncConnectorService/CreateTask":      "service",
		"/flytebinary.insight.v1.NotificationService/RetryDelivery":  "anonymous, user, key, service",
		"/flytebinary.engine.v1.WorkerPoolService/ExplainWorkerWait": "service",
	} {
		rule, _ := authz.RuleOf(procedure)
		require.Equal(t, want, rule.By.String(), procedure)
	}
}

// seen is an authenticator that remembers what it was shown.
type seen struct{ requests []authz.Request }

func (s *seen) Authenticate(_ context.Context, request authz.Request) (authz.Identity, error) {
	s.requests = append(s.requests, request)
	return authz.Identity{}, nil
}

// TestAuthenticatorsSeeTheRequest: the address, the state of TLS, the procedure and the origin, of calls and of plain routes.
func TestAuthenticatorsSeeTheRequest(t *testing.T) {
	shown := &seen{}
	mux, err := rpc.NewGuardedMux(rpc.Chain{Authenticator: shown, Authoriser: &recording{}})
	require.NoError(t, err)
	all := methods(t)
	method := all[slices.IndexFunc(all, func(m protoreflect.MethodDescriptor) bool { return m.Name() == "GetRunDetails" })]
	mux.Handle("/"+string(method.Parent().FullName())+"/", dynamicHandler(t, method, append(mux.Options(), connect.WithIdempotency(connect.IdempotencyNoSideEffects))...))
	mux.Handle("GET /metrics", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	for _, address := range []string{procedureOf(method) + "?connect=v1&encoding=json&message={}", "/metrics"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+address, nil)
		require.NoError(t, err)
		request.Header.Set("Origin", "https://elsewhere.example")
		answer, err := server.Client().Do(request)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	require.Len(t, shown.requests, 2)
	for i, procedure := range []string{procedureOf(method), "GET /metrics"} {
		got := shown.requests[i]
		require.Equal(t, procedure, got.Procedure)
		require.Equal(t, http.MethodGet, got.Method)
		require.Equal(t, "https://elsewhere.example", got.Origin)
		require.NotNil(t, got.TLS, procedure)
		require.Contains(t, got.Peer, "127.0.0.1:")
	}
}
