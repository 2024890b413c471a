package manager_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/access/limits"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/runs/backlog"
)

// startWithLimits runs a server whose callers are known by name, and returns its URL and its clock.
func startWithLimits(t *testing.T, config configuration.Config) (url string, clk *clock.Fake) {
	t.Helper()
	clk = clock.NewFake(time.Now())
	server, err := manager.Complete(t.Context(), config, manager.Options{
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel), REST: nowhere(t), Authenticator: byName{}, Clock: clk,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(t, server.Start(t.Context()))
	return "http://" + server.Addr(), clk
}

// requireUnderWay checks a limit of what is under way: how much it is, and how much is left.
func requireUnderWay(t *testing.T, limits []*accessv1.Limit, setting string, most, left int64) {
	t.Helper()
	for _, limit := range limits {
		if limit.GetSetting() == setting {
			require.Equal(t, []int64{most, left, most}, []int64{limit.GetMost(), limit.GetLeft(), limit.GetBurst()}, setting)
			require.Nil(t, limit.GetPer())
			return
		}
	}
	require.Fail(t, "no limit "+setting)
}

// refusedForNow checks that a refusal says what is reached, and when to try again.
func refusedForNow(t *testing.T, err error, words string) {
	t.Helper()
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, words)
	var wire *connect.Error
	require.ErrorAs(t, err, &wire)
	require.NotEmpty(t, wire.Details())
	value, err := wire.Details()[0].Value()
	require.NoError(t, err)
	require.Positive(t, value.(*errdetails.RetryInfo).GetRetryDelay().AsDuration())
}

// TestLimitsOfProjects runs a whole server and reaches each limit that holds for a project, or for what a caller has under way.
func TestLimitsOfProjects(t *testing.T) {
	config := testConfig(t)
	config.Access.Bindings = []access.BindingConfig{{User: "ada", Role: "operator"}, {User: "bob", Role: "operator"}, {User: "eve", Role: "operator"}}
	config.Access.Limits = limits.Config{ProjectRequestsPerSecond: 1, ProjectStreams: 1, RequestBytes: 3000, ProjectRequestBytes: 2000}
	config.Runs.Backlog = backlog.Config{WaitingRuns: 20, CallerActions: 2}
	url, clk := startWithLimits(t, config)
	runs := func(name string) workflowconnect.RunServiceClient {
		return workflowconnect.NewRunServiceClient(as(name), url)
	}
	told := func(name string) []*accessv1.Limit {
		client := accessv1connect.NewAccessServiceClient(as(name), url)
		answer, err := client.GetLimits(t.Context(), &accessv1.GetLimitsRequest{Project: "flytesnacks"})
		require.NoError(t, err)
		return answer.GetLimits()
	}
	details := func(name, project string) error {
		_, err := runs(name).GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf(project, "one")})
		return err
	}
	require.NoError(t, createRun(t, runs("ada"), runOf("flytesnacks", "one")))
	require.NoError(t, createRun(t, runs("ada"), runOf("flytesnacks", "two")))
	refusedForNow(t, createRun(t, runs("ada"), runOf("flytesnacks", "three")), "the runs of ada have 2 unfinished actions")
	requireUnderWay(t, told("ada"), "runs.backlog.callerActions", 2, 0)
	requireUnderWay(t, told("bob"), "runs.backlog.callerActions", 2, 2)
	requireUnderWay(t, told("bob"), "runs.backlog.waitingRuns", 20, 18)
	requireUnderWay(t, told("bob"), "runs.backlog.actions", 0, 0)
	require.NoError(t, createRun(t, runs("ada"), runOf("flytesnacks", "two")), "a repeated request is not refused")
	require.NoError(t, createRun(t, runs("bob"), runOf("flytesnacks", "three")))
	_, err := runs("ada").AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runOf("flytesnacks", "two")})
	require.NoError(t, err)
	clk.Step(5 * time.Second)
	require.NoError(t, createRun(t, runs("ada"), runOf("flytesnacks", "four")), "one has ended, and the time has passed that the answer named")
	clk.Step(10 * time.Second)

	reason := func(size int) error {
		_, err := runs("ada").AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runOf("flytesnacks", "one"), Reason: proto.String(strings.Repeat("x", size))})
		return err
	}
	require.NoError(t, reason(1800))
	for size, words := range map[int]string{2500: "the request in project flytesnacks has more than 2000 bytes", 3500: "the request of user ada has more than 3000 bytes"} {
		err := reason(size)
		require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, words)
	}

	watch := func(name string) (*connect.ServerStreamForClient[workflow.WatchRunDetailsResponse], bool) {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		stream, err := runs(name).WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: runOf("flytesnacks", "three")})
		require.NoError(t, err)
		return stream, stream.Receive()
	}
	first, open := watch("ada")
	require.True(t, open, "%v", first.Err())
	second, open := watch("bob")
	require.False(t, open)
	refusedForNow(t, second.Err(), "project flytesnacks has 1 open streams")
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool {
		clk.Step(time.Second)
		_, open := watch("bob")
		return open
	}, time.Minute, 10*time.Millisecond, "the stream that has ended gave back its place")

	clk.Step(time.Minute)
	for i := range 10 {
		require.NoError(t, details([]string{"ada", "bob"}[i%2], "flytesnacks"))
	}
	refusedForNow(t, details("eve", "flytesnacks"), "project flytesnacks gets more than 1 requests a second")
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(details("eve", "other")))
	_, err = runs("eve").ListRuns(t.Context(), &workflow.ListRunsRequest{ScopeBy: &workflow.ListRunsRequest_Org{Org: "o"}})
	require.NoError(t, err, "a list over all projects")
	clk.Step(time.Second)
	require.NoError(t, details("eve", "flytesnacks"), "after the time that the answer named")
}

// TestLimitsOfCallersAndProjects runs a whole server and reaches each limit of access.limits over the network.
func TestLimitsOfCallersAndProjects(t *testing.T) {
	config := testConfig(t)
	config.Access.Bindings = []access.BindingConfig{
		{User: "ada", Role: "operator"}, {User: "bob", Role: "operator"}, {User: "eve", Role: "operator"},
	}
	config.Access.Limits = limits.Config{RequestsPerSecond: 1, Streams: 1, RunsPerMinute: 2, ProjectRunsPerMinute: 3}
	url, clk := startWithLimits(t, config)
	runs := func(name string) workflowconnect.RunServiceClient {
		return workflowconnect.NewRunServiceClient(as(name), url)
	}
	refused := func(err error, words string) {
		t.Helper()
		refusedForNow(t, err, words)
	}

	require.NoError(t, createRun(t, runs("ada"), runOf("flytesnacks", "one")))
	require.NoError(t, createRun(t, runs("ada"), runOf("flytesnacks", "two")))
	refused(createRun(t, runs("ada"), runOf("flytesnacks", "three")), "user ada creates more than 2 runs a minute")
	require.NoError(t, createRun(t, runs("bob"), runOf("flytesnacks", "three")))
	refused(createRun(t, runs("bob"), runOf("flytesnacks", "four")), "more than 3 runs a minute are created in project flytesnacks")

	watch := func() (*connect.ServerStreamForClient[workflow.WatchRunDetailsResponse], bool) {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		stream, err := runs("bob").WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: runOf("flytesnacks", "one")})
		require.NoError(t, err)
		return stream, stream.Receive()
	}
	first, open := watch()
	require.True(t, open, "%v", first.Err())
	second, open := watch()
	require.False(t, open)
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(second.Err()))
	require.ErrorContains(t, second.Err(), "user bob has 1 open streams")

	get := func() error {
		_, err := runs("eve").GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("flytesnacks", "one")})
		return err
	}
	for range 10 {
		require.NoError(t, get())
	}
	err := get()
	refused(err, "user eve makes more than 1 requests a second")
	var wire *connect.Error
	require.ErrorAs(t, err, &wire)
	require.Equal(t, "1", wire.Meta().Get("Retry-After"))
	clk.Step(time.Second)
	require.NoError(t, get(), "after the time that the answer named")
}
