package connectors_test

import (
	"context"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/connectors"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// issuer is TaskTokenService: tokens have the form of real ones, and name the run and the attempt.
type issuer struct {
	mu    sync.Mutex
	asked []string // runs and attempts
	fail  error
}

func tokenOf(run string, attempt uint32) string {
	return fmt.Sprintf("fbt_%s-%d-%s", run, attempt, strings.Repeat("Zz9_", 20))
}

// IssueTaskToken implements connectors.Tokens.
func (i *issuer) IssueTaskToken(_ context.Context, r *enginev1.IssueTaskTokenRequest) (*enginev1.IssueTaskTokenResponse, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	attempt := r.GetAttempt()
	run := attempt.GetAction().GetId().GetRun().GetName()
	if attempt.GetAction().GetUid() == 0 || attempt.GetAction().GetId().GetName() != "a0" {
		return nil, fmt.Errorf("it does not say whose: %v", r)
	}
	i.asked = append(i.asked, fmt.Sprint(run, " ", attempt.GetAttempt()))
	return &enginev1.IssueTaskTokenResponse{Token: tokenOf(run, attempt.GetAttempt())}, i.fail
}

func (i *issuer) all() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// encrypted is the fake over TLS, as an endpoint that gets tokens.
func (f *fake) encrypted(name string) connectors.Endpoint {
	f.t.Helper()
	server := httptest.NewUnstartedServer(f.handler())
	server.EnableHTTP2 = true
	server.StartTLS()
	f.t.Cleanup(server.Close)
	ca := filepath.Join(f.t.TempDir(), "ca.crt")
	require.NoError(f.t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	return connectors.Endpoint{Name: name, URL: server.URL, CAFile: ca, TaskTokens: true}
}

// withTokens is the service with an issuer of tokens.
func withTokens(t *testing.T, i *issuer, endpoints ...connectors.Endpoint) *fixture {
	t.Helper()
	f := newFixtureWith(t, func(*connectors.Config) {})
	f.stop()
	f.config.Endpoints, f.config.MaxErrors, f.config.MaxSystemFailures = endpoints, 2, 0
	f.tokens = i
	f.stop = f.replica()
	return f
}

// storedNowhere checks that neither the database nor the object store has a token.
func (f *fixture) storedNowhere(token string) {
	f.t.Helper()
	rows, err := f.db.Query(f.t.Context(), `SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg_%' AND n.nspname <> 'information_schema'`)
	require.NoError(f.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(f.t, err)
	require.NotEmpty(f.t, tables)
	for _, table := range tables {
		var has int
		require.NoError(f.t, f.db.QueryRow(f.t.Context(), `SELECT count(*) FROM `+table+` AS t WHERE position($1 IN t::text) > 0 OR position($2 IN t::text) > 0`,
			token, hex.EncodeToString([]byte(token))).Scan(&has))
		require.Zero(f.t, has, table)
	}
	require.NoError(f.t, filepath.WalkDir(f.blobs.Root(), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := os.ReadFile(path)
		require.NotContains(f.t, string(body), token, path)
		return err
	}))
}

// program is a job whose connector starts the program of the task, in a run whose author tries to lead the token elsewhere.
func program(f *fixture, run string) {
	f.run(run, job(func(t *core.TaskTemplate) {
		t.GetContainer().Args = []string{"python", "main.py"}
		t.Metadata.Retries = &core.RetryStrategy{Retries: 1}
	}), func(r *workflow.CreateRunRequest) {
		r.RunSpec = &task.RunSpec{Envs: &task.Envs{Values: []*core.KeyValuePair{
			{Key: "FLYTE_TASK_TOKEN", Value: "made up"}, {Key: "_U_EP_OVERRIDE", Value: "http://evil"}, {Key: "_U_INSECURE", Value: "true"},
			{Key: "INTERNAL_APP_ENDPOINT_PATTERN", Value: "http://evil/{app_fqdn}"}, {Key: "KEPT", Value: "yes"},
		}}}
	})
}

// TestAJobGetsTheTokenOfItsAttempt: each attempt its own, with the address of the server, in the request for the job and nowhere else.
func TestAJobGetsTheTokenOfItsAttempt(t *testing.T) {
	fake, from := newFake(t, "batch_job"), &issuer{}
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RETRYABLE_FAILED})
	f := withTokens(t, from, fake.encrypted("batch"))
	f.serves("batch_job")
	program(f, "r")
	f.reaches("r", failed)
	require.Len(t, fake.creates, 2)
	for i, request := range fake.creates {
		token := tokenOf("r", uint32(i+1))
		env := request.GetTaskExecutionMetadata().GetEnvironmentVariables()
		require.Equal(t, token, env["FLYTE_TASK_TOKEN"])
		require.Equal(t, "https://flyte.example.com/t/"+token, env["_U_EP_OVERRIDE"])
		require.NotContains(t, env, "_U_INSECURE")
		require.NotContains(t, env, "INTERNAL_APP_ENDPOINT_PATTERN")
		require.Equal(t, "yes", env["KEPT"])
		inContainer := map[string]string{}
		for _, pair := range request.GetTemplate().GetContainer().GetEnv() {
			inContainer[pair.GetKey()] = pair.GetValue()
		}
		require.Equal(t, env, inContainer, "the program of the task has the same variables")
		f.storedNowhere(token)
	}
	for _, request := range fake.gets {
		require.NotContains(t, request.String(), "fbt_")
	}
}

// TestTokensAreOffByDefault: a connector without taskTokens learns neither the token nor where the server is.
func TestTokensAreOffByDefault(t *testing.T) {
	fake, from := newFake(t, "batch_job"), &issuer{}
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_FAILED})
	endpoint := fake.encrypted("batch")
	endpoint.TaskTokens = false
	f := withTokens(t, from, endpoint)
	f.serves("batch_job")
	program(f, "r")
	f.reaches("r", failed)
	require.Empty(t, from.all())
	env := fake.creates[0].GetTaskExecutionMetadata().GetEnvironmentVariables()
	require.NotContains(t, env, "FLYTE_TASK_TOKEN")
	require.Equal(t, "http://evil", env["_U_EP_OVERRIDE"], "of the author of the run")
	require.NotContains(t, fake.creates[0].String(), "flyte.example.com")
}

// TestAnAppGetsTokensIfItIsListed: others do not, whatever they are shared with.
func TestAnAppGetsTokensIfItIsListed(t *testing.T) {
	trusted, other, from := newFake(t, "batch_job"), newFake(t, "other_job"), &issuer{}
	trusted.begins(&connectorv2.Resource{Phase: core.TaskExecution_FAILED})
	other.begins(&connectorv2.Resource{Phase: core.TaskExecution_FAILED})
	g := newGates(t)
	g.serve("tools", trusted)
	g.serve("others", other)
	f := newFixtureOf(t, g, func(c *connectors.Config) {
		c.TaskTokenApps, c.SharedApps = []string{"flytesnacks/development/tools"}, []string{"flytesnacks/development/others"}
	})
	f.stop()
	f.tokens = from
	f.stop = f.replica()
	f.serves("batch_job")
	f.serves("other_job")
	f.run("with", job())
	f.run("without", job(func(t *core.TaskTemplate) { t.Type = "other_job" }))
	f.reaches("with", failed)
	f.reaches("without", failed)
	require.Equal(t, tokenOf("with", 1), trusted.creates[0].GetTaskExecutionMetadata().GetEnvironmentVariables()["FLYTE_TASK_TOKEN"])
	require.NotContains(t, other.creates[0].String(), "fbt_")
	require.Equal(t, []string{"with 1"}, from.all())
}

// TestNoJobBeginsWithoutItsToken: while none can be issued, the attempt waits.
func TestNoJobBeginsWithoutItsToken(t *testing.T) {
	fake, from := newFake(t, "batch_job"), &issuer{fail: errors.New("no key")}
	fake.begins(success())
	f := withTokens(t, from, fake.encrypted("batch"))
	f.serves("batch_job")
	f.run("r", job())
	f.eventually("a token is asked for", func() bool { return len(from.all()) > 1 })
	fake.with(func() { require.Empty(t, fake.creates) })
	from.mu.Lock()
	from.fail = nil
	from.mu.Unlock()
	require.Len(t, f.reaches("r", succeeded).GetAttempts(), 1)
}

// TestATokenIsShownAndStoredNowhere: what a connector says may have the token that it was given, or only its beginning.
func TestATokenIsShownAndStoredNowhere(t *testing.T) {
	token := tokenOf("r", 1)
	refuses := func(*fakeJob) error {
		return connect.NewError(connect.CodeInternal, fmt.Errorf("401 for %q", "https://x/t/"+token+"/y"))
	}
	for name, tc := range map[string]struct {
		state       *connectorv2.Resource
		create, get func(*fakeJob) error
		meta        string
		words       string
	}{
		"an error of CreateTask": {create: refuses, words: "401 for \"https://x/t/[token of a task]/y\""},
		"an error of GetTask":    {get: refuses, words: "[token of a task]"},
		"a message and a link": {state: &connectorv2.Resource{
			Phase: core.TaskExecution_FAILED, Message: "_U_EP_OVERRIDE=https://x/t/" + token,
			LogLinks: []*core.TaskLog{{Name: token, Uri: "https://batch/?env=" + token}},
		}, words: "https://x/t/[token of a task]"},
		"a message that is cut within the token": {state: &connectorv2.Resource{
			Phase: core.TaskExecution_FAILED, Message: strings.Repeat("x", 1000) + token + strings.Repeat("y", 60_000),
		}, words: "xxx"},
		"the name of the job": {meta: `{"job_id": "` + token + `"}`, words: "has the token of the attempt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFake(t, "batch_job")
			if tc.state != nil {
				fake.begins(tc.state)
			}
			fake.create, fake.get = tc.create, tc.get
			if tc.meta != "" {
				fake.meta = []byte(tc.meta)
			}
			f := withTokens(t, &issuer{}, fake.encrypted("batch"))
			f.serves("batch_job")
			f.run("r", job())
			details := f.reaches("r", failed)
			require.Contains(t, details.GetErrorInfo().GetMessage(), tc.words)
			require.NotContains(t, details.String(), "Zz9_Zz9_", "not even a part of it")
			f.storedNowhere(token)
			if tc.meta != "" {
				fake.until("the job is deleted", func() bool { return fake.deletes > 0 })
			}
		})
	}
}

// TestLogsAndMetricsHaveNoToken: a job that prints its environment.
func TestLogsAndMetricsHaveNoToken(t *testing.T) {
	token := tokenOf("r", 1)
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	fake.logs = map[string][]string{"": {"FLYTE_TASK_TOKEN=" + token}}
	fake.metrics = func(*connectorv2.GetTaskMetricsRequest) (*connectorv2.GetTaskMetricsResponse, error) {
		return &connectorv2.GetTaskMetricsResponse{Results: []*core.ExecutionMetricResult{metric(t, "of "+token, map[string]any{"env": token})}}, nil
	}
	f := withTokens(t, &issuer{}, fake.encrypted("batch"))
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", running)
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	stream, err := f.client.TailJob(ctx, &enginev1.TailJobRequest{ActionId: actionID("r"), Attempt: 1})
	require.NoError(t, err)
	require.True(t, stream.Receive(), "%v", stream.Err())
	require.Equal(t, "FLYTE_TASK_TOKEN=[token of a task]", stream.Msg().GetLines()[0].GetMessage())
	require.NoError(t, stream.Close())
	metrics, err := f.connectors.GetJobMetrics(t.Context(), &insightv1.GetJobMetricsRequest{ActionId: actionID("r"), Attempt: 1})
	require.NoError(t, err)
	require.Equal(t, "of [token of a task]", metrics.GetMetrics()[0].GetName())
	require.NotContains(t, metrics.String(), token)
	fake.becomes(success())
	f.reaches("r", succeeded)
	f.forgotten() // the log is stored
	f.storedNowhere(token)
}

// TestAJobThatIsToBeDeletedGetsNoToken: the name of a job whose request was not answered is asked for, and it does not run.
func TestAJobThatIsToBeDeletedGetsNoToken(t *testing.T) {
	fake, from := newFake(t, "batch_job"), &issuer{}
	answers := fake.losesAnswers()
	f := withTokens(t, from, fake.encrypted("batch"))
	f.serves("batch_job")
	f.run("r", job())
	fake.has(1)
	_, err := f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: actionID("r").GetRun()})
	require.NoError(t, err)
	f.eventually("it is to be deleted", func() bool {
		var stopped bool
		require.NoError(t, f.db.QueryRow(t.Context(), `SELECT bool_or(stop <> 0) FROM connector_jobs`).Scan(&stopped))
		return stopped
	})
	issued := len(from.all())
	fake.until("it is asked for again", func() bool {
		last := fake.creates[len(fake.creates)-1]
		return last.GetTaskExecutionMetadata().GetEnvironmentVariables()["FLYTE_TASK_TOKEN"] == ""
	})
	answers()
	f.forgotten()
	require.LessOrEqual(t, len(from.all()), issued+1, "one request may have begun before")
}

// TestTokensGoOverTLSAlone: to the connector, and from its jobs to the server.
func TestTokensGoOverTLSAlone(t *testing.T) {
	config := connectors.DefaultConfig()
	config.Endpoints = []connectors.Endpoint{{Name: "plain", URL: "http://127.0.0.1:8000", TaskTokens: true}, {Name: "other", URL: "http://other:8000"}}
	require.EqualError(t, config.Validate(), `endpoints[0].taskTokens: tokens are sent over TLS alone: url must be https://host:port, got "http://127.0.0.1:8000"`)
	config.Endpoints[0].URL = "https://batch:8000"
	require.NoError(t, config.Validate())
	config.TaskTokenApps = []string{"tools"}
	require.EqualError(t, config.Validate(), `taskTokenApps[0]: want project/domain/name, got "tools"`)
	config.TaskTokenApps = []string{"p/d/tools"}
	f := newFixtureWith(t, func(*connectors.Config) {})
	start := func(config connectors.Config, publicURL string) error {
		_, err := connectors.New(config, connectors.Deps{
			Pool: f.db, Engine: f.engine, Sink: f.sink, Store: f.blobs, Secrets: f, PublicURL: publicURL,
		})
		return err
	}
	for _, url := range []string{"https://flyte.example.com", "http://localhost:8090", "http://127.0.0.1:8090", "http://[::1]:8090"} {
		require.NoError(t, start(config, url), url)
	}
	for _, url := range []string{"http://flyte.example.com", "http://localhost.example.com", "", "http://0.0.0.0:80"} {
		err := start(config, url)
		require.ErrorContains(t, err, "connectors.endpoints[0].taskTokens: jobs present the tokens at access.publicURL", url)
		require.ErrorContains(t, err, "connectors.taskTokenApps: ", url)
		require.NotContains(t, err.Error(), "endpoints[1]")
	}
	require.NoError(t, start(connectors.DefaultConfig(), "http://flyte.example.com"), "without tokens any address will do")
}
