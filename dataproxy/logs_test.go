package dataproxy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	config "github.com/flyte-binary/flyte-binary/dataproxy"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

var logTime = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func logLines(texts ...string) []*dataplane.LogLine {
	var lines []*dataplane.LogLine
	for _, text := range texts {
		lines = append(lines, &dataplane.LogLine{Message: text, Timestamp: timestamppb.New(logTime)})
	}
	return lines
}

// logged registers an action with a pod and returns the URI of the stored log of its primary container.
func (f *fixture) logged(name string) string {
	f.state.logs[name] = &core.LogContext{PrimaryPodName: "pod-0", Pods: []*core.PodLogContext{
		{
			Namespace: "ns", PodName: "worker", PrimaryContainerName: "main",
			Containers: []*core.ContainerContext{{ContainerName: "main"}},
		},
		{
			Namespace: "ns", PodName: "pod-0", PrimaryContainerName: "main",
			InitContainers: []*core.ContainerContext{{ContainerName: "init"}},
			Containers:     []*core.ContainerContext{{ContainerName: "sidecar"}, {ContainerName: "main"}},
		},
	}}
	f.state.storage[name] = &enginev1.GetActionStorageResponse{RunOutputBase: f.store.Root() + "/p/d/r/", Attempts: 1}
	return f.store.Root() + "/p/d/r/" + name + "/1/_logs/main.log"
}

func (f *fixture) seal(uri string, texts ...string) {
	f.t.Helper()
	var body strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&body, "%s %s\n", logTime.Format(time.RFC3339Nano), text)
	}
	require.NoError(f.t, f.store.WriteAll(context.Background(), uri, []byte(body.String())))
}

// tail reads a whole stream: the text of all lines and the number of messages without any.
func (f *fixture) tail(r *dataproxy.TailLogsRequest) (text string, empty int, err error) {
	f.t.Helper()
	stream, err := f.data.TailLogs(f.t.Context(), r)
	require.NoError(f.t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	for stream.Receive() {
		if len(stream.Msg().GetLogs()) == 0 {
			empty++
		}
		for _, logs := range stream.Msg().GetLogs() {
			for _, line := range logs.GetLines() {
				text += line.GetMessage()
			}
		}
	}
	return text, empty, stream.Err()
}

func logsOf(name string) *dataproxy.TailLogsRequest {
	return &dataproxy.TailLogsRequest{ActionId: id(name), Attempt: 1}
}

func TestLogsOfALivingPod(t *testing.T) {
	f := newFixture(t)
	f.logged("a0")
	f.pods.tail = func(_ context.Context, _ int, r *enginev1.TailContainerRequest, send func(...string)) error {
		require.Equal(t, "ns/pod-0/main", r.GetNamespace()+"/"+r.GetPod()+"/"+r.GetContainer())
		require.True(t, r.GetFollow())
		send("one", "two")
		send("three")
		return nil
	}
	stream, err := f.data.TailLogs(t.Context(), logsOf("a0"))
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	require.True(t, stream.Receive())
	logs := stream.Msg().GetLogs()[0]
	require.Equal(t, "one\n", logs.GetLines()[0].GetMessage(), "clients print messages without a newline of their own")
	require.Equal(t, dataplane.LogLineOriginator_USER, logs.GetLines()[0].GetOriginator())
	require.Equal(t, logTime, logs.GetLines()[0].GetTimestamp().AsTime())
	require.Equal(t, "pod-0", logs.GetContainer().GetKubernetesPodName())
	require.Equal(t, "c", logs.GetContainer().GetClusterName())
	require.True(t, stream.Receive())
	require.Equal(t, "three\n", stream.Msg().GetLogs()[0].GetLines()[0].GetMessage())
	require.False(t, stream.Receive())
	require.NoError(t, stream.Err())
}

// Story R10: logs disappeared with the pod, although they had been promised for every attempt.
func TestLogsOfAPodThatIsGone(t *testing.T) {
	f := newFixture(t, func(c *config.Config) { c.Logs.BatchLines = 2 })
	uri := f.logged("a0")
	_, _, err := f.tail(logsOf("a0"))
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "not yet; clients retry")

	f.seal(uri, "one", "2026-05-05T00:00:00Z is a time of the user's", "", "four\r", strings.Repeat("x", 300<<10), "six")
	text, _, err := f.tail(logsOf("a0"))
	require.NoError(t, err)
	lines := strings.Split(text, "\n")
	require.Equal(t, []string{"one", "2026-05-05T00:00:00Z is a time of the user's", "", "four"}, lines[:4])
	require.Equal(t, "six", lines[6])
	require.Len(t, lines, 8)

	stream, err := f.runLogs.TailLogs(t.Context(), &workflow.TailLogsRequest{ActionId: id("a0"), Attempt: 1})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	require.True(t, stream.Receive())
	require.Equal(t, "one\n", stream.Msg().GetLogs()[0].GetLines()[0].GetMessage())
}

// TestStoredLogsOfMembers: the pods of an attempt have containers of the same names, and each has its own stored log.
func TestStoredLogsOfMembers(t *testing.T) {
	f := newFixture(t)
	uri := f.logged("a0")
	f.seal(uri, "of the head")
	f.seal(strings.Replace(uri, "/main.log", "/worker/main.log", 1), "of the worker")
	for pod, want := range map[string]string{"pod-0": "of the head\n", "worker": "of the worker\n"} {
		request := logsOf("a0")
		request.PodSelector = &dataproxy.TailLogsRequest_PodName{PodName: pod}
		text, _, err := f.tail(request)
		require.NoError(t, err, pod)
		require.Equal(t, want, text)
	}
	f.state.logs["a0"].Pods[0].PodName = "../../../secret"
	request := logsOf("a0")
	request.PodSelector = &dataproxy.TailLogsRequest_PodName{PodName: "../../../secret"}
	_, _, err := f.tail(request)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "a name that no pod can have is not part of a path")
}

func TestAPodThatVanishesLosesAndRepeatsNoLine(t *testing.T) {
	for name, failure := range map[string]error{
		"gone": rpc.NotFound("pod is gone"), "broken": rpc.Unavailable(nil, "connection lost"), "canceled": context.Canceled,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			uri := f.logged("a0")
			f.pods.tail = func(_ context.Context, call int, _ *enginev1.TailContainerRequest, send func(...string)) error {
				switch call {
				case 1:
					send("one", "two", "three")
					return failure
				case 2: // the API server was unavailable only for a moment
					send("one", "two")
					send("three", "four")
					return failure
				default:
					f.seal(uri, "one", "two", "three", "four", "five")
					return rpc.NotFound("pod is gone")
				}
			}
			go f.stepClock()
			text, _, err := f.tail(logsOf("a0"))
			require.NoError(t, err)
			require.Equal(t, "one\ntwo\nthree\nfour\nfive\n", text)
		})
	}
}

// stepClock steps the clock until the test ends.
func (f *fixture) stepClock() {
	for f.t.Context().Err() == nil {
		f.clock.Step(100 * time.Millisecond)
		<-time.After(time.Millisecond)
	}
}

func TestALogThatWasNotKept(t *testing.T) {
	f := newFixture(t)
	f.logged("a0")
	f.pods.tail = func(_ context.Context, call int, _ *enginev1.TailContainerRequest, send func(...string)) error {
		if call == 1 {
			send("one")
		}
		return rpc.NotFound("pod is gone")
	}
	go f.stepClock()
	text, _, err := f.tail(logsOf("a0"))
	require.Equal(t, "one\n", text)
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
	require.ErrorContains(t, err, "ended unexpectedly after 1 lines")
}

// TestALogOfAClusterThatIsAway: the reader learns which cluster it is, since when, and what happens next.
func TestALogOfAClusterThatIsAway(t *testing.T) {
	const why = "cluster east is away since 2026-01-02 03:04:05 UTC; the logs of what runs there continue when it is back"
	f := newFixture(t)
	f.logged("a0")
	f.pods.tail = func(_ context.Context, call int, _ *enginev1.TailContainerRequest, send func(...string)) error {
		if call == 1 {
			send("one")
		}
		return rpc.Unavailable(nil, why)
	}
	go f.stepClock()
	text, _, err := f.tail(logsOf("a0"))
	require.Equal(t, "one\n", text)
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
	require.ErrorContains(t, err, why)
}

func TestSilentLogsHaveHeartbeats(t *testing.T) {
	f := newFixture(t)
	f.logged("a0")
	proceed := make(chan struct{})
	f.pods.tail = func(ctx context.Context, _ int, _ *enginev1.TailContainerRequest, send func(...string)) error {
		select {
		case <-proceed:
			send("one")
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	go f.stepClock()
	stream, err := f.data.TailLogs(t.Context(), logsOf("a0"))
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	for range 2 {
		require.True(t, stream.Receive())
		require.Empty(t, stream.Msg().GetLogs())
	}
	close(proceed)
	for stream.Receive() && len(stream.Msg().GetLogs()) == 0 {
	}
	require.Equal(t, "one\n", stream.Msg().GetLogs()[0].GetLines()[0].GetMessage())
}

func TestSelectors(t *testing.T) {
	f := newFixture(t)
	f.logged("a0")
	f.pods.tail = func(_ context.Context, _ int, r *enginev1.TailContainerRequest, send func(...string)) error {
		if r.GetContainer() == "init" {
			return rpc.NotFound("its log is gone")
		}
		send(r.GetPod() + "/" + r.GetContainer())
		return nil
	}
	for name, test := range map[string]struct {
		choose func(*dataproxy.TailLogsRequest)
		want   []string
	}{
		"default": {func(*dataproxy.TailLogsRequest) {}, []string{"pod-0/main"}},
		"primary": {func(r *dataproxy.TailLogsRequest) {
			r.PodSelector = &dataproxy.TailLogsRequest_PrimaryPod{PrimaryPod: true}
		}, []string{"pod-0/main"}},
		"all": {func(r *dataproxy.TailLogsRequest) { r.PodSelector = &dataproxy.TailLogsRequest_AllPods{AllPods: true} }, []string{"pod-0/main", "pod-0/sidecar", "worker/main"}},
		"by name": {func(r *dataproxy.TailLogsRequest) {
			r.PodSelector = &dataproxy.TailLogsRequest_PodName{PodName: "worker"}
		}, []string{"worker/main"}},
	} {
		t.Run(name, func(t *testing.T) {
			request := logsOf("a0")
			test.choose(request)
			text, _, err := f.tail(request)
			require.NoError(t, err)
			require.ElementsMatch(t, test.want, strings.Fields(text))
		})
	}
	request := logsOf("a0")
	request.PodSelector = &dataproxy.TailLogsRequest_PodName{PodName: "../other"}
	_, _, err := f.tail(request)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "only pods of the attempt can be read")
}

func TestLogRefusals(t *testing.T) {
	f := newFixture(t)
	f.state.logs["empty"] = &core.LogContext{}
	f.state.logs["connector"] = nil
	for name, test := range map[string]struct {
		request *dataproxy.TailLogsRequest
		code    connect.Code
	}{
		"nothing":    {&dataproxy.TailLogsRequest{}, connect.CodeInvalidArgument},
		"no attempt": {&dataproxy.TailLogsRequest{ActionId: id("a0")}, connect.CodeInvalidArgument},
		"no run":     {&dataproxy.TailLogsRequest{ActionId: &common.ActionIdentifier{Name: "a0"}, Attempt: 1}, connect.CodeInvalidArgument},
		"unknown":    {logsOf("none"), connect.CodeNotFound},
		"no pods":    {logsOf("empty"), connect.CodeNotFound},
		"no context": {logsOf("connector"), connect.CodeNotFound},
	} {
		_, _, err := f.tail(test.request)
		require.Equal(t, test.code, connect.CodeOf(err), "%s: %v", name, err)
	}
	stream, err := f.runLogs.TailLogs(t.Context(), &workflow.TailLogsRequest{})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	require.False(t, stream.Receive())
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(stream.Err()))
}

func TestTailEndsWhenTheClientDisconnects(t *testing.T) {
	f := newFixture(t)
	f.logged("a0")
	ended := make(chan struct{})
	f.pods.tail = func(ctx context.Context, _ int, _ *enginev1.TailContainerRequest, send func(...string)) error {
		defer close(ended)
		send("one")
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := f.data.TailLogs(ctx, logsOf("a0"))
	require.NoError(t, err)
	require.True(t, stream.Receive())
	cancel()
	<-ended
	_ = stream.Close()
}

func TestConfig(t *testing.T) {
	require.NoError(t, config.DefaultConfig().Validate())
	for field, spoil := range map[string]func(*config.Config){
		"maxUploadBytes":    func(c *config.Config) { c.MaxUploadBytes = 0 },
		"maxUploadExpiry":   func(c *config.Config) { c.MaxUploadExpiry = 0 },
		"maxDownloadExpiry": func(c *config.Config) { c.MaxDownloadExpiry = 0 },
		"maxInlineBytes":    func(c *config.Config) { c.MaxInlineBytes = 0 },
		"logs.batchLines":   func(c *config.Config) { c.Logs.BatchLines = 0 },
		"logs.heartbeat":    func(c *config.Config) { c.Logs.Heartbeat = 0 },
		"logs.sealWait":     func(c *config.Config) { c.Logs.SealWait = -1 },
		"logs.sealPoll":     func(c *config.Config) { c.Logs.SealPoll = 0 },
	} {
		c := config.DefaultConfig()
		spoil(&c)
		require.ErrorContains(t, c.Validate(), field)
	}
	_, err := config.New(config.DefaultConfig(), config.Deps{})
	require.ErrorContains(t, err, "is required")
}

func TestStoredLogsOfAClusterThatIsNotReachable(t *testing.T) {
	f := newFixture(t)
	f.state.cluster = "elsewhere"
	f.pods.tail = func(context.Context, int, *enginev1.TailContainerRequest, func(...string)) error {
		t.Error("the pod's log is read from a cluster that never ran it")
		return nil
	}
	uri := f.logged("a0")
	f.seal(uri, "one", "two")
	text, _, err := f.tail(logsOf("a0"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", text)
}

// ofJob registers an action whose log a connector has. Its stored log is at the returned URI.
func (f *fixture) ofJob(name string) string {
	f.state.logs[name] = &core.LogContext{PrimaryPodName: "connector-batch", Pods: []*core.PodLogContext{{
		PodName: "connector-batch", PrimaryContainerName: "job", Containers: []*core.ContainerContext{{ContainerName: "job"}},
	}}}
	f.state.storage[name] = &enginev1.GetActionStorageResponse{RunOutputBase: f.store.Root() + "/p/d/r/", Attempts: 1}
	return f.store.Root() + "/p/d/r/" + name + "/1/_logs/job.log"
}

// TestTheLogOfAJob: a connector has it while the job runs, and the object store has the rest.
func TestTheLogOfAJob(t *testing.T) {
	f := newFixture(t)
	f.seal(f.ofJob("job"), "one", "two", "three")
	f.jobs.lines = logLines("one", "two")
	text, _, err := f.tail(logsOf("job"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\nthree\n", text)
	require.Equal(t, "job", f.jobs.asked.GetActionId().GetName())
	require.EqualValues(t, 1, f.jobs.asked.GetAttempt())
}
