package connectors_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/connectors"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

const (
	running   = common.ActionPhase_ACTION_PHASE_RUNNING
	succeeded = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	failed    = common.ActionPhase_ACTION_PHASE_FAILED
	aborted   = common.ActionPhase_ACTION_PHASE_ABORTED
)

func success() *connectorv2.Resource {
	return &connectorv2.Resource{
		Phase: core.TaskExecution_SUCCEEDED, Message: "all rows are there", Outputs: &task.Outputs{Literals: []*task.NamedLiteral{text("result", "42")}},
	}
}

// TestAJobRuns: a task runs in another system, from its inputs to its outputs.
func TestAJobRuns(t *testing.T) {
	fake := newFake(t, "batch_job")
	f := newFixture(t, fake.endpoint("batch"))
	f.values["token-of-batch"], f.values["other"] = "hush", "psst"
	f.serves("batch_job")
	f.run("r", job(func(t *core.TaskTemplate) {
		t.Metadata.LogLinks = []*core.TaskLog{
			{Name: "Board", Uri: "https://board/{{.connectorID}}/{{ .runName }}"}, {Name: "Pod", Uri: "https://pods/{{.podName}}"},
		}
		t.Custom, _ = structpb.NewStruct(map[string]any{"size": 3, "secrets": map[string]any{"token": "token-of-batch"}})
		t.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Key: "other"}}}
		t.GetContainer().Args = []string{"--in", "{{.input}}", "--out", "{{.outputPrefix}}", "--n", "{{.inputs.n}}"}
		t.GetContainer().Env = []*core.KeyValuePair{{Key: "MODE", Value: "fast"}}
		t.Interface.Inputs = &core.VariableMap{Variables: []*core.VariableEntry{{Key: "n", Value: &core.Variable{
			Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_STRING}},
		}}}}
	}), func(r *workflow.CreateRunRequest) {
		r.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: &task.Inputs{Literals: []*task.NamedLiteral{text("n", "7")}}}
		r.RunSpec = &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"team": "blue"}}}
	})
	one := fake.has(1)[0]
	f.reaches("r", common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES)
	fake.becomes(&connectorv2.Resource{
		Phase: core.TaskExecution_RUNNING, Message: "half way", LogLinks: []*core.TaskLog{{Name: "Console", Uri: "https://batch/" + one.ID}},
	})
	f.reaches("r", running)
	fake.becomes(success())
	details := f.reaches("r", succeeded)
	require.Equal(t, "42", f.outputs(details).GetLiterals()[0].GetValue().GetScalar().GetPrimitive().GetStringValue())
	links := details.GetAttempts()[0].GetLogInfo()
	require.Len(t, links, 2)
	require.Equal(t, "https://board/batch/r", links[0].GetUri())
	require.Equal(t, "https://batch/"+one.ID, links[1].GetUri())
	var told []string
	for _, event := range details.GetAttempts()[0].GetClusterEvents() {
		told = append(told, event.GetMessage())
	}
	require.Contains(t, told, "connector batch runs it as job "+one.ID)
	require.Contains(t, told, "half way")
	f.forgotten()

	require.Len(t, fake.creates, 1)
	sent := fake.creates[0]
	require.Equal(t, "7", sent.GetInputs().GetLiterals()[0].GetValue().GetScalar().GetPrimitive().GetStringValue())
	require.Equal(t, "batch_job", sent.GetTemplate().GetType())
	require.Equal(t, sent.GetOutputPrefix(), sent.GetTemplate().GetContainer().GetArgs()[3])
	require.Contains(t, sent.GetTemplate().GetContainer().GetArgs()[1], "/inputs.pb")
	require.Equal(t, "7", sent.GetTemplate().GetContainer().GetArgs()[5])
	require.Equal(t, map[string]string{"token": "hush", "other": "psst"}, sent.GetConnection().GetSecrets())
	require.Equal(t, "hush", fake.gets[0].GetConnection().GetSecrets()["token"])
	require.Equal(t, sent.GetOutputPrefix(), fake.gets[0].GetOutputPrefix())
	metadata := sent.GetTaskExecutionMetadata()
	require.Equal(t, "r", metadata.GetTaskExecutionId().GetNodeExecutionId().GetExecutionId().GetName())
	require.Equal(t, "blue", metadata.GetLabels()["team"])
	require.Equal(t, "r", metadata.GetLabels()["flyte.org/run"])
	require.Equal(t, "fast", metadata.GetEnvironmentVariables()["MODE"])
	require.Equal(t, "a0", metadata.GetEnvironmentVariables()["ACTION_NAME"])
	variables := map[string]string{}
	for _, pair := range sent.GetTemplate().GetContainer().GetEnv() {
		variables[pair.GetKey()] = pair.GetValue()
	}
	require.Equal(t, metadata.GetEnvironmentVariables(), variables, "the program of the task starts with these")
	require.Regexp(t, `^r-a0-[0-9a-f]{8}-0$`, metadata.GetAnnotations()[connectors.AnnotationKey])
	require.EqualValues(t, 1, metadata.GetMaxAttempts())
}

// TestALostAnswerStartsNoSecondJob: the job exists, and the server does not know.
func TestALostAnswerStartsNoSecondJob(t *testing.T) {
	fake := newFake(t, "batch_job")
	lost := 3
	fake.create = func(*fakeJob) error {
		if lost--; lost >= 0 {
			return connect.NewError(connect.CodeUnavailable, nil)
		}
		return nil
	}
	fake.begins(success())
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", succeeded)
	require.Len(t, fake.has(1), 1)
	require.Len(t, fake.creates, 4)
	require.Len(t, f.details("r").GetAttempts(), 1, "it costs time, not attempts")
}

// TestARestartContinuesTheJob: by its name, which is durable.
func TestARestartContinuesTheJob(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", running)
	f.stop()
	fake.becomes(success())
	f.replica()
	f.reaches("r", succeeded)
	require.Len(t, fake.has(1), 1)
	require.Len(t, fake.creates, 1)
	f.forgotten()
}

// TestARestartWhileTheJobIsRequested: the first process asked for the job and stopped before the answer came.
func TestARestartWhileTheJobIsRequested(t *testing.T) {
	fake := newFake(t, "batch_job")
	answers := fake.losesAnswers()
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("r", job())
	fake.has(1)
	f.stop()
	answers()
	fake.becomes(success())
	f.replica()
	f.reaches("r", succeeded)
	require.Len(t, fake.has(1), 1)
}

// TestAnAbortDeletesTheJob: until the connector has acknowledged it, over a restart.
func TestAnAbortDeletesTheJob(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	refuse := true
	fake.remove = func(int) error {
		if refuse {
			return connect.NewError(connect.CodeInternal, nil)
		}
		return nil
	}
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", running)
	_, err := f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: actionID("r").GetRun()})
	require.NoError(t, err)
	f.reaches("r", aborted)
	fake.until("it is asked to delete the job", func() bool { return fake.deletes > 1 })
	f.stop()
	fake.with(func() { refuse = false })
	f.replica()
	f.forgotten()
	require.True(t, fake.has(1)[0].deleted)
}

// TestAnAbortWhileTheJobIsRequested: the job exists, its name is not known, and it must not stay.
func TestAnAbortWhileTheJobIsRequested(t *testing.T) {
	fake := newFake(t, "batch_job")
	answers := fake.losesAnswers()
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("r", job())
	fake.has(1)
	_, err := f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: actionID("r").GetRun()})
	require.NoError(t, err)
	f.reaches("r", aborted)
	f.stop()
	answers()
	f.replica()
	f.forgotten()
	require.True(t, fake.has(1)[0].deleted)
}

// TestFailures: who is to blame for which end, and what is tried again.
func TestFailures(t *testing.T) {
	internal := func(*fakeJob) error { return connect.NewError(connect.CodeInternal, nil) }
	for name, tc := range map[string]struct {
		state    *connectorv2.Resource
		create   func(*fakeJob) error
		get      func(*fakeJob) error
		change   func(*core.TaskTemplate)
		code     string
		attempts int
	}{
		"the job fails":               {state: &connectorv2.Resource{Phase: core.TaskExecution_FAILED, Message: "no such table"}, code: "JobFailed", attempts: 1},
		"the job fails and may again": {state: &connectorv2.Resource{Phase: core.TaskExecution_RETRYABLE_FAILED}, code: "JobFailed", attempts: 3},
		"the job is stopped there":    {state: &connectorv2.Resource{Phase: core.TaskExecution_ABORTED}, code: "JobAborted", attempts: 1},
		"the connector refuses it":    {create: internal, code: "JobNotStarted", attempts: 3},
		"the connector forgets it":    {get: internal, code: "MaxSystemFailuresExceeded|JobLost", attempts: 4},
		"it leaves no outputs":        {state: &connectorv2.Resource{Phase: core.TaskExecution_SUCCEEDED}, code: "OutputsMissing", attempts: 3},
		"a secret is missing": {
			change: func(t *core.TaskTemplate) {
				t.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Key: "none"}}}
			},
			code: "SecretMissing", attempts: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFake(t, "batch_job")
			if tc.state != nil {
				fake.begins(tc.state)
			}
			fake.create, fake.get = tc.create, tc.get
			f := newFixtureWith(t, func(c *connectors.Config) {
				c.Endpoints, c.MaxErrors = []connectors.Endpoint{fake.endpoint("batch")}, 3
			})
			f.serves("batch_job")
			f.run("r", job(func(t *core.TaskTemplate) {
				t.Metadata.Retries = &core.RetryStrategy{Retries: 2}
				if tc.change != nil {
					tc.change(t)
				}
			}))
			details := f.reaches("r", failed)
			require.Equal(t, tc.code, details.GetErrorInfo().GetCode(), "%s", details.GetErrorInfo().GetMessage())
			require.Len(t, details.GetAttempts(), tc.attempts)
			require.Contains(t, details.GetErrorInfo().GetMessage(), tc.state.GetMessage())
			f.forgotten()
		})
	}
}

// TestATimeout: the job is deleted before the next attempt begins.
func TestATimeout(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("r", job(func(t *core.TaskTemplate) {
		t.Metadata.Timeout, t.Metadata.Retries = durationpb.New(50*time.Millisecond), &core.RetryStrategy{Retries: 1}
	}))
	details := f.reaches("r", common.ActionPhase_ACTION_PHASE_TIMED_OUT)
	require.Len(t, details.GetAttempts(), 2)
	for _, one := range fake.has(2) {
		require.True(t, one.deleted)
	}
	f.forgotten()
}

// TestAConnectorThatIsAway costs time, not attempts.
func TestAConnectorThatIsAway(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("before", job())
	f.reaches("before", running)
	fake.down()
	f.run("during", job())
	f.eventually("the details say so", func() bool {
		events := f.details("during").GetAttempts()[0].GetClusterEvents()
		return len(events) > 0 && events[len(events)-1].GetSourceComponent() == "connectors" &&
			containsAll(events[len(events)-1].GetMessage(), "waits: the connector batch has not started the job", "does not answer")
	})
	fake.begins(success())
	fake.becomes(success())
	fake.up()
	for _, run := range []string{"before", "during"} {
		require.Len(t, f.reaches(run, succeeded).GetAttempts(), 1)
	}
	fake.has(2)
}

// TestAConnectorHasAtMostItsJobs: others wait for a place.
func TestAConnectorHasAtMostItsJobs(t *testing.T) {
	fake := newFake(t, "batch_job")
	endpoint := fake.endpoint("batch")
	endpoint.MaxJobs = 2
	f := newFixture(t, endpoint)
	f.serves("batch_job")
	runs := []string{"r1", "r2", "r3", "r4", "r5"}
	for _, run := range runs {
		f.run(run, job())
	}
	live := func() (n int) {
		for _, j := range fake.jobs {
			if j.state.GetPhase() == core.TaskExecution_QUEUED {
				n++
			}
		}
		return n
	}
	fake.has(2)
	fake.with(func() { fake.first = func(*fakeJob) { require.LessOrEqual(t, live(), 1) } })
	for ended := 0; ended < len(runs); {
		fake.with(func() {
			for _, j := range fake.jobs {
				if j.state.GetPhase() == core.TaskExecution_QUEUED {
					j.state = success()
					ended++
					return
				}
			}
		})
	}
	for _, run := range runs {
		f.reaches(run, succeeded)
	}
}

// TestATypeThatNoConnectorServes is refused, in words that help.
func TestATypeThatNoConnectorServes(t *testing.T) {
	fake := newFake(t, "batch_job")
	silent := connectors.Endpoint{Name: "silent", URL: "http://127.0.0.1:1"}
	f := newFixture(t, fake.endpoint("batch"), silent)
	f.serves("batch_job")
	err := f.create("r", job(func(t *core.TaskTemplate) { t.Type = "snowflake" }))
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
	require.ErrorContains(t, err, `no connector serves tasks of type "snowflake": they need a connector to Snowflake`)
	require.ErrorContains(t, err, "batch_job")
	require.ErrorContains(t, err, "these connectors have not said yet which types they serve: silent")
	fake.with(func() { fake.types = append(fake.types, &connectorv2.TaskCategory{Name: "snowflake"}) })
	f.serves("snowflake")
	fake.begins(success())
	f.run("r", job(func(t *core.TaskTemplate) {
		t.Type, t.Target = "snowflake", &core.TaskTemplate_Sql{Sql: &core.Sql{Statement: "SELECT 1 -- {{.runName}}"}}
	}))
	f.reaches("r", succeeded)
	require.Equal(t, "SELECT 1 -- r", fake.creates[0].GetTemplate().GetSql().GetStatement())
}
