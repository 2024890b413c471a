package connectors_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/connectors"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// TestLooksThatHangDelayNothingElse: a connector that does not answer about jobs still starts and deletes others.
func TestLooksThatHangDelayNothingElse(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	endpoint := fake.endpoint("batch")
	endpoint.Concurrency = 4
	f := newFixtureWith(t, func(c *connectors.Config) {
		c.Endpoints, c.CallTimeout = []connectors.Endpoint{endpoint}, 10*time.Minute
	})
	f.serves("batch_job")
	const old = 6
	for i := range old {
		f.run(fmt.Sprintf("old%d", i), job())
		f.reaches(fmt.Sprintf("old%d", i), running)
	}
	hangs := make(chan struct{})
	fake.with(func() { fake.hang = hangs })
	fake.until("looks hang", func() bool { return fake.hanging > 0 })
	f.run("new", job())
	fake.has(old + 1)
	for i := range old { // those at which the server looks, and the others
		_, err := f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: actionID(fmt.Sprintf("old%d", i)).GetRun()})
		require.NoError(t, err)
	}
	fake.until("the jobs are deleted", func() bool { return fake.deletes >= old })
	close(hangs)
}

// TestAConnectorGetsAtMostItsCalls: of 4 calls at a time, 3 are looks, however many more are due.
func TestAConnectorGetsAtMostItsCalls(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	endpoint := fake.endpoint("batch")
	endpoint.Concurrency = 4
	f := newFixtureWith(t, func(c *connectors.Config) { c.Endpoints = []connectors.Endpoint{endpoint} })
	f.serves("batch_job")
	const jobs = 16
	for i := range jobs {
		f.run(fmt.Sprintf("r%d", i), job())
	}
	fake.has(jobs)
	hangs := make(chan struct{})
	before := 0
	fake.with(func() { fake.hang, before = hangs, len(fake.gets) })
	fake.until("looks hang", func() bool { return fake.looking == 3 })
	require.Never(t, func() bool { // the others become due, and are read
		most := 0
		fake.with(func() { most = fake.looking })
		return most > 3
	}, 500*time.Millisecond, tick)
	fake.with(func() { fake.hang = nil })
	close(hangs)
	fake.until("all are looked at again", func() bool { return len(fake.gets) >= before+2*jobs })
}

// TestSecretsAreNotShown: what a connector says may have the values that it was given.
func TestSecretsAreNotShown(t *testing.T) {
	const secret = "hunter2-and-more"
	for name, tc := range map[string]struct {
		state       *connectorv2.Resource
		create, get func(*fakeJob) error
	}{
		"an error of CreateTask": {create: func(*fakeJob) error { return connect.NewError(connect.CodeInternal, fmt.Errorf("401 for %q", secret)) }},
		"an error of GetTask":    {get: func(*fakeJob) error { return connect.NewError(connect.CodeInternal, fmt.Errorf("401 for %q", secret)) }},
		"a message and a link": {state: &connectorv2.Resource{
			Phase: core.TaskExecution_FAILED, Message: "no access with " + secret,
			LogLinks: []*core.TaskLog{{Name: "Console", Uri: "https://batch/?key=" + secret}, {Name: "Bad", Uri: "javascript:alert(1)"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFake(t, "batch_job")
			if tc.state != nil {
				fake.begins(tc.state)
			}
			fake.create, fake.get = tc.create, tc.get
			f := newFixtureWith(t, func(c *connectors.Config) {
				c.Endpoints, c.MaxErrors, c.MaxSystemFailures = []connectors.Endpoint{fake.endpoint("batch")}, 2, 0
			})
			f.values["token"] = secret
			f.serves("batch_job")
			f.run("r", job(func(t *core.TaskTemplate) {
				t.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Key: "token"}}}
			}))
			details := f.reaches("r", failed)
			require.Contains(t, details.GetErrorInfo().GetMessage(), "[secret token]")
			require.NotContains(t, details.String(), secret)
			require.NotContains(t, details.String(), "javascript:")
		})
	}
}

// TestOddAnswers: nothing that a connector answers makes an action wait forever.
func TestOddAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		state *connectorv2.Resource
		get   func(*fakeJob) error
		meta  []byte
		code  string
		words string
	}{
		"an unknown phase": {state: &connectorv2.Resource{Phase: 42}, code: "JobLost", words: "phase 42"},
		"no such job": {get: func(*fakeJob) error { return connect.NewError(connect.CodeNotFound, fmt.Errorf("no job of this name")) },
			code: "JobLost", words: "no job of this name"},
		"bytes that Postgres cannot store": {get: func(*fakeJob) error { return connect.NewError(connect.CodeInternal, fmt.Errorf("bad\x00\xff")) },
			code: "JobLost", words: "bad??"},
		"large outputs": {state: &connectorv2.Resource{
			Phase: core.TaskExecution_SUCCEEDED, Outputs: &task.Outputs{Literals: []*task.NamedLiteral{text("result", strings.Repeat("x", 9000))}},
		}, code: "JobFailed", words: "connectors.maxAnswer"},
		"a large name":         {meta: make([]byte, 2000), code: "JobNotStarted", words: "2000 bytes"},
		"a name beyond bounds": {meta: make([]byte, 9000), code: "BadTaskSpecification", words: "larger than configured max"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFake(t, "batch_job")
			if tc.state != nil {
				fake.begins(tc.state)
			}
			fake.get, fake.meta = tc.get, tc.meta
			f := newFixtureWith(t, func(c *connectors.Config) {
				c.Endpoints, c.MaxErrors, c.MaxSystemFailures = []connectors.Endpoint{fake.endpoint("batch")}, 3, 0
				c.MaxAnswer, c.MaxMeta = 4<<10, 1<<10
			})
			f.serves("batch_job")
			f.run("r", job())
			details := f.reaches("r", failed)
			require.Contains(t, details.GetErrorInfo().GetCode(), tc.code, details.GetErrorInfo().GetMessage())
			require.Contains(t, details.GetErrorInfo().GetMessage(), tc.words)
			f.forgotten()
			if tc.code == "JobLost" {
				require.True(t, fake.has(1)[0].deleted, "a job that is given up may still run")
			}
		})
	}
}

// TestOneHangingConnectorDoesNotHideTheOthers: what the others serve is known soon.
func TestOneHangingConnectorDoesNotHideTheOthers(t *testing.T) {
	hanging, fake := newFake(t), newFake(t, "batch_job")
	hangs := make(chan struct{})
	hanging.hang = hangs
	t.Cleanup(func() { close(hangs) })
	f := newFixtureWith(t, func(c *connectors.Config) {
		c.Endpoints, c.CallTimeout = []connectors.Endpoint{hanging.endpoint("hanging"), fake.endpoint("batch")}, 10*time.Minute
	})
	f.serves("batch_job")
}

// TestAProcessThatWasStoppedForLong: its answer comes when another process has taken over and has the job of the attempt. A job that
// does not count is deleted, and what is stored stays.
func TestAProcessThatWasStoppedForLong(t *testing.T) {
	fake := newFake(t, "batch_job")
	asked, answers := make(chan struct{}, 1), make(chan struct{})
	fake.create = func(*fakeJob) error {
		fake.mu.Unlock()
		defer fake.mu.Lock()
		asked <- struct{}{}
		<-answers
		return nil
	}
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("r", job())
	<-asked
	_, err := f.db.Exec(t.Context(), `UPDATE connector_jobs SET stage = 2, meta = 'of the other process', due_at = clock_timestamp() + interval '1 hour'`)
	require.NoError(t, err)
	close(answers)
	fake.until("the second job is deleted", func() bool {
		for _, j := range fake.jobs {
			return j.deleted
		}
		return false
	})
	var meta []byte
	require.NoError(t, f.db.QueryRow(context.Background(), `SELECT meta FROM connector_jobs`).Scan(&meta))
	require.Equal(t, "of the other process", string(meta))
}

// TestAJobWhoseConnectorIsGone: after its time, the deletion is given up.
func TestAJobWhoseConnectorIsGone(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", running)
	f.stop()
	f.config.Endpoints, f.config.DeleteFor = nil, 0
	f.replica()
	_, err := f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: actionID("r").GetRun()})
	require.NoError(t, err)
	f.forgotten()
}
