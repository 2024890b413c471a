package manager_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret/secretconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// wholeLog is everything that a process logs, at every level.
type wholeLog struct {
	mu   sync.Mutex
	text bytes.Buffer // GUARDED_BY(mu)
}

func (l *wholeLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *wholeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func withLocalSecrets(t *testing.T, config configuration.Config) configuration.Config {
	dir := t.TempDir()
	config.Secrets.Backends = []string{"local"}
	config.Secrets.Local.Directory, config.Secrets.Local.KeyFile = filepath.Join(dir, "secrets"), filepath.Join(dir, "key")
	return config
}

// TestNoValueLeavesTheServer looks for the value of a secret in every answer, in the whole log, and in every row of the
// database.
func TestNoValueLeavesTheServer(t *testing.T) {
	const hidden = "correct-horse-battery-staple"
	config := withLocalSecrets(t, testConfig(t))
	config.Auth.InternalToken = "internal"
	log := &wholeLog{}
	server, err := manager.Complete(t.Context(), config, manager.Options{Logger: zerolog.New(log).Level(zerolog.TraceLevel), REST: nowhere(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(t, server.Start(t.Context()))
	url := "http://" + server.Addr()
	secrets := secretconnect.NewSecretServiceClient(http.DefaultClient, url)
	var answers strings.Builder
	note := func(answer interface{ String() string }, err error) error {
		answers.WriteString(answer.String())
		if err != nil {
			answers.WriteString(err.Error())
		}
		return err
	}

	id := &secretpb.SecretIdentifier{Name: "key", Project: "flytesnacks", Domain: "development"}
	spec := &secretpb.SecretSpec{Value: &secretpb.SecretSpec_BinaryValue{BinaryValue: []byte(hidden)}}
	created, err := secrets.CreateSecret(t.Context(), &secretpb.CreateSecretRequest{Id: id, SecretSpec: spec})
	require.NoError(t, note(created, err))
	created, err = secrets.CreateSecret(t.Context(), &secretpb.CreateSecretRequest{Id: id, SecretSpec: spec})
	require.Equal(t, connect.CodeAlreadyExists, connect.CodeOf(note(created, err)))
	text := &secretpb.SecretSpec{Value: &secretpb.SecretSpec_StringValue{StringValue: hidden}}
	for _, name := range []string{"a/b", "a b", strings.Repeat("n", 254), ""} {
		refused, err := secrets.CreateSecret(t.Context(), &secretpb.CreateSecretRequest{Id: &secretpb.SecretIdentifier{Name: name}, SecretSpec: text})
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(note(refused, err)), name)
	}
	large := &secretpb.SecretSpec{Value: &secretpb.SecretSpec_StringValue{StringValue: strings.Repeat(hidden, 1+2<<20/len(hidden))}}
	refused, err := secrets.UpdateSecret(t.Context(), &secretpb.UpdateSecretRequest{Id: id, SecretSpec: large})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(note(refused, err)))
	require.ErrorContains(t, err, "secret_spec.value")
	updated, err := secrets.UpdateSecret(t.Context(), &secretpb.UpdateSecretRequest{Id: id, SecretSpec: text})
	require.NoError(t, note(updated, err))
	got, err := secrets.GetSecret(t.Context(), &secretpb.GetSecretRequest{Id: id})
	require.NoError(t, note(got, err))
	listed, err := secrets.ListSecrets(t.Context(), &secretpb.ListSecretsRequest{})
	require.NoError(t, note(listed, err))
	require.Len(t, listed.GetSecrets(), 1)
	system, err := insightv1connect.NewSystemServiceClient(http.DefaultClient, url).GetSystem(t.Context(), &insightv1.GetSystemRequest{})
	require.NoError(t, note(system, err))

	// Only the services of the installation get values.
	wanted := &enginev1.GetSecretValuesRequest{Project: "flytesnacks", Domain: "development", Names: []string{"key"}}
	none, err := enginev1connect.NewSecretValueServiceClient(http.DefaultClient, url).GetSecretValues(t.Context(), wanted)
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(note(none, err)))
	values, err := enginev1connect.NewSecretValueServiceClient(http.DefaultClient, url, rpc.WithInternalToken("internal")).GetSecretValues(t.Context(), wanted)
	require.NoError(t, err)
	require.Equal(t, hidden, string(values.GetValues()[0].GetValue()))

	encoded := base64.StdEncoding.EncodeToString([]byte(hidden))
	for place, text := range map[string]string{"an answer": answers.String(), "the log": log.String(), "the database": dump(t, config.Database.URL)} {
		require.NotEmpty(t, text)
		require.NotContains(t, text, hidden, place)
		require.NotContains(t, text, encoded, place)
	}
}

// dump is every row of every table, as text.
func dump(t *testing.T, url string) string {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { require.NoError(t, connection.Close(context.WithoutCancel(t.Context()))) }()
	rows, err := connection.Query(t.Context(), `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Greater(t, len(tables), 5)
	var all strings.Builder
	for _, table := range tables {
		rows, err := connection.Query(t.Context(), "SELECT t::text FROM "+table+" t")
		require.NoError(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		all.WriteString(table + "\n" + strings.Join(lines, "\n"))
	}
	return all.String()
}

// A process with the target api has no cluster: with the default backend it works, and says why there are no secrets.
func TestAnAPIWithoutAClusterHasNoSecrets(t *testing.T) {
	config := testConfig(t)
	config.Target = configuration.TargetAPI
	url := startServer(t, config, nil)
	secrets := secretconnect.NewSecretServiceClient(http.DefaultClient, url)
	_, err := secrets.ListSecrets(t.Context(), &secretpb.ListSecretsRequest{})
	require.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(err))
	require.ErrorContains(t, err, "secrets.backends")
}
