package connectors_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/connectors"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// TestTheLogOfAJob: it is followed page by page while the job runs, and stored before the job ends, without the values of secrets.
func TestTheLogOfAJob(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	fake.logs = map[string][]string{"": {"one"}}
	f := newFixture(t, fake.endpoint("batch"))
	f.values["token-of-batch"] = "hush"
	f.serves("batch_job")
	f.run("r", job(func(t *core.TaskTemplate) {
		t.Custom, _ = structpb.NewStruct(map[string]any{"secrets": map[string]any{"token": "token-of-batch"}})
	}))
	details := f.reaches("r", running)
	logs := details.GetAttempts()[0].GetLogContext()
	require.Equal(t, "connector-batch", logs.GetPrimaryPodName())
	require.Equal(t, "job", logs.GetPods()[0].GetPrimaryContainerName())

	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	stream, err := f.client.TailJob(ctx, &enginev1.TailJobRequest{ActionId: actionID("r"), Attempt: 1})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	next := func() string {
		require.True(t, stream.Receive(), "%v", stream.Err())
		var texts []string
		for _, line := range stream.Msg().GetLines() {
			texts = append(texts, line.GetMessage())
		}
		return strings.Join(texts, ",")
	}
	require.Equal(t, "one", next())
	fake.with(func() { fake.logs[""], fake.logs["+"] = []string{"one", "two\n"}, []string{"the token is hush"} })
	require.Equal(t, "two", next())
	said := next()
	require.Contains(t, said, "the token is ")
	require.NotContains(t, said, "hush")

	fake.becomes(success())
	details = f.reaches("r", succeeded)
	require.False(t, stream.Receive())
	require.True(t, rpc.IsNotFound(stream.Err()), "%v", stream.Err())
	require.Equal(t, "connector-batch", details.GetAttempts()[0].GetLogContext().GetPrimaryPodName())
	dir, _ := strings.CutSuffix(details.GetAttempts()[0].GetOutputs().GetOutputUri(), "/outputs.pb")
	body, err := f.blobs.ReadAll(t.Context(), dir+"/_logs/job.log", 1<<20)
	require.NoError(t, err)
	require.Equal(t, "1970-01-01T00:00:01Z one\n1970-01-01T00:00:01Z two\n1970-01-01T00:00:01Z "+said+"\n", string(body))
}

// TestAConnectorWithoutLogs: no log is announced.
func TestAConnectorWithoutLogs(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(success())
	f := newFixture(t, fake.endpoint("batch"))
	f.serves("batch_job")
	f.run("r", job())
	details := f.reaches("r", succeeded)
	require.Nil(t, details.GetAttempts()[0].GetLogContext())
	require.False(t, details.GetAttempts()[0].GetLogsAvailable())
}

// TestLogsThatHangAreAskedForOnce: a connector that does not answer for logs delays one look, and not each look at each job.
func TestLogsThatHangAreAskedForOnce(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(success())
	fake.logsHang = true
	f := newFixtureWith(t, func(c *connectors.Config) {
		c.Endpoints, c.CallTimeout = []connectors.Endpoint{fake.endpoint("batch")}, time.Second
	})
	f.serves("batch_job")
	f.run("one", job())
	f.reaches("one", succeeded)
	f.run("two", job())
	details := f.reaches("two", succeeded)
	require.Nil(t, details.GetAttempts()[0].GetLogContext())
	fake.with(func() { require.Equal(t, 1, fake.logCalls) })
}

// TestALogThatHangsHoldsNoEnd: the job ends before its log is read, a restart does not lose the log, and who reads it meanwhile gets it
// from the connector.
func TestALogThatHangsHoldsNoEnd(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	fake.logs = map[string][]string{"": {"one"}, "+": {"two"}}
	f := newFixtureWith(t, func(c *connectors.Config) {
		c.Endpoints, c.CallTimeout = []connectors.Endpoint{fake.endpoint("batch")}, 10*time.Minute
	})
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", running)
	fake.with(func() { fake.logsHang = true })
	fake.becomes(success())
	details := f.reaches("r", succeeded)
	require.NotNil(t, details.GetAttempts()[0].GetLogContext())
	dir, _ := strings.CutSuffix(details.GetAttempts()[0].GetOutputs().GetOutputUri(), "/outputs.pb")
	stored := func() string {
		body, err := f.blobs.ReadAll(t.Context(), dir+"/_logs/job.log", 1<<20)
		if err != nil {
			return ""
		}
		return string(body)
	}
	f.forgotten()
	require.Empty(t, stored())
	f.stop()
	require.Empty(t, stored())
	fake.with(func() { fake.logsHang = false })
	f.stop = f.replica()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	stream, err := f.client.TailJob(ctx, &enginev1.TailJobRequest{ActionId: actionID("r"), Attempt: 1})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	for stream.Receive() {
	}
	require.True(t, rpc.IsNotFound(stream.Err()), "%v", stream.Err())
	require.Equal(t, "1970-01-01T00:00:01Z one\n1970-01-01T00:00:01Z two\n", stored(), "a reader sees the stored log once it exists")
}

// TestALogThatHangsHoldsNoAbort: a job is deleted after a short time, and its log is stored when it can be read.
func TestALogThatHangsHoldsNoAbort(t *testing.T) {
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	fake.logs = map[string][]string{"": {"one"}}
	f := newFixtureWith(t, func(c *connectors.Config) {
		c.Endpoints, c.CallTimeout = []connectors.Endpoint{fake.endpoint("batch")}, time.Second
	})
	f.serves("batch_job")
	f.run("r", job())
	f.reaches("r", running)
	fake.with(func() { fake.logsHang = true })
	_, err := f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: actionID("r").GetRun()})
	require.NoError(t, err)
	fake.until("it is deleted", func() bool { return fake.deletes == 1 })
	f.forgotten()
	fake.with(func() { fake.logsHang = false })
	f.eventually("the log is stored", func() bool {
		found := false
		require.NoError(t, filepath.WalkDir(f.blobs.Root(), func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, "/_logs/job.log") {
				body, _ := os.ReadFile(path)
				found = strings.HasSuffix(string(body), " one\n")
			}
			return err
		}))
		return found
	})
}
