package apps_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/apps"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// podLogs serves the logs of pods, as the controller of a cluster does.
type podLogs struct {
	enginev1connect.UnimplementedPodLogServiceHandler
	tail func(context.Context, *enginev1.TailContainerRequest, func(second int, text string)) error
}

func (p podLogs) TailContainer(ctx context.Context, r *enginev1.TailContainerRequest, to *connect.ServerStream[enginev1.TailContainerResponse]) error {
	return p.tail(ctx, r, func(second int, text string) {
		line := &dataplane.LogLine{Message: text, Timestamp: timestamppb.New(noon.Add(time.Duration(second) * time.Second))}
		_ = to.Send(&enginev1.TailContainerResponse{Lines: []*dataplane.LogLine{line}})
	})
}

func (f *fixture) tails(tail func(context.Context, *enginev1.TailContainerRequest, func(int, string)) error) {
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	mux.Handle(enginev1connect.NewPodLogServiceHandler(podLogs{tail: tail}, connect.WithHandlerOptions(mux.Options()...)))
	client := enginev1connect.NewPodLogServiceClient(rpc.InProcess(http.Handler(mux)), rpc.InProcessURL)
	f.pods.mu.Lock()
	defer f.pods.mu.Unlock()
	f.pods.tail = client.TailContainer
}

// steps moves the clock in small steps until the test ends.
func (f *fixture) steps() {
	ctx, done := f.t.Context(), make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			f.clock.Step(50 * time.Millisecond)
			<-time.After(time.Millisecond)
		}
	}()
	f.t.Cleanup(func() { <-done })
}

// read reads a stream to its end, or until it has seen a text: each line as REPLICA: TEXT, and the names of the replicas.
func (f *fixture) read(r *app.TailLogsRequest, until string) (lines, names []string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), wait)
	defer cancel()
	stream, err := f.logs.TailLogs(ctx, r)
	require.NoError(f.t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	for stream.Receive() {
		for _, replica := range stream.Msg().GetReplicas().GetReplicas() {
			names = append(names, replica.GetName())
		}
		for _, batch := range stream.Msg().GetBatches().GetLogs() {
			for _, line := range batch.GetStructuredLines() {
				lines = append(lines, batch.GetReplicaId().GetName()+": "+line.GetMessage())
				if until != "" && strings.Contains(line.GetMessage(), until) {
					return lines, names
				}
			}
		}
	}
	require.NoError(f.t, stream.Err())
	require.Empty(f.t, until, "the stream has ended before")
	return lines, names
}

func TestLogs(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	uid := d.of("web").GetUid()
	calls := make(chan string, 100)
	f.tails(func(_ context.Context, r *enginev1.TailContainerRequest, send func(int, string)) error {
		calls <- fmt.Sprintf("%s/%s/%s", r.GetNamespace(), r.GetPod(), r.GetContainer())
		switch {
		case r.GetPod() == "pod-1-1":
			send(2, "between")
			return nil
		case len(calls) < 3:
			send(1, "one")
			send(3, "two")
			return rpc.Unavailable(nil, "the connection broke")
		default:
			send(1, "one")
			send(3, "two")
			send(3, "three")
			send(4, "four")
			return nil
		}
	})
	f.steps()

	ended := replicas(1, 1, false)
	ended.Replicas[0].Name, ended.Replicas[0].Phase = "old", "Ended"
	ended.Replicas[0].LogUri = f.blobs.Root() + "/flytesnacks/development/_apps/" + uid + "/logs/old.log"
	require.NoError(t, f.blobs.WriteAll(t.Context(), ended.GetReplicas()[0].GetLogUri(), []byte(noon.Add(-time.Minute).Format(time.RFC3339Nano)+" before\n")))
	running := replicas(1, 2, true)
	running.Replicas = append(running.Replicas, ended.GetReplicas()...)
	d.report("web", running)

	lines, names := f.read(&app.TailLogsRequest{Target: &app.TailLogsRequest_AppId{AppId: id("web")}}, "four")
	require.ElementsMatch(t, []string{"old", "pod-1-0", "pod-1-1"}, names)
	require.Equal(t, []string{"old: before", "pod-1-0: one", "pod-1-1: between", "pod-1-0: two", "pod-1-0: three", "pod-1-0: four"}, lines,
		"in the order of their times, each once")
	require.Contains(t, []string{"ns/pod-1-0/app", "ns/pod-1-1/app"}, <-calls)

	one := func(name string) *app.TailLogsRequest {
		return &app.TailLogsRequest{Target: &app.TailLogsRequest_ReplicaId{ReplicaId: &app.ReplicaIdentifier{AppId: id("web"), Name: name}}}
	}
	lines, _ = f.read(one("old"), "")
	require.Equal(t, []string{"old: before"}, lines)
	stream, err := f.logs.TailLogs(t.Context(), one("unknown"))
	require.NoError(t, err)
	require.False(t, stream.Receive())
	refused(t, stream.Err(), connect.CodeNotFound, "no replica unknown")
}

func TestALogOfAnotherApp(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	f.steps()
	for i, uri := range []string{
		"/flytesnacks/development/secret.log", "/flytesnacks/development/_apps/" + d.of("web").GetUid() + "/../other/logs/x.log",
	} {
		require.NoError(t, f.blobs.WriteAll(t.Context(), f.blobs.Root()+"/flytesnacks/development/secret.log", []byte("secret\n")))
		ended := replicas(1, 1, false)
		ended.Replicas[0].Name, ended.Replicas[0].Phase, ended.Replicas[0].LogUri = fmt.Sprintf("old-%d", i), "Ended", f.blobs.Root()+uri
		d.report("web", ended)
		lines, _ := f.read(&app.TailLogsRequest{Target: &app.TailLogsRequest_ReplicaId{ReplicaId: &app.ReplicaIdentifier{AppId: id("web"), Name: fmt.Sprintf("old-%d", i)}}}, "")
		require.Empty(t, lines)
	}
}

func TestLogsEndWithTheApp(t *testing.T) {
	f := newFixture(t, func(c *apps.Config) { c.LogStreams = 1 })
	d := f.deployer("", false)
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	f.tails(func(ctx context.Context, _ *enginev1.TailContainerRequest, send func(int, string)) error {
		send(1, "one")
		<-ctx.Done()
		return ctx.Err()
	})
	d.report("web", replicas(1, 1, true))
	f.steps()
	stream, err := f.logs.TailLogs(t.Context(), &app.TailLogsRequest{Target: &app.TailLogsRequest_AppId{AppId: id("web")}})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	for stream.Receive() && len(stream.Msg().GetBatches().GetLogs()) == 0 {
	}
	require.Equal(t, "one", stream.Msg().GetBatches().GetLogs()[0].GetStructuredLines()[0].GetMessage())
	second, err := f.logs.TailLogs(t.Context(), &app.TailLogsRequest{Target: &app.TailLogsRequest_AppId{AppId: id("web")}})
	require.NoError(t, err)
	require.False(t, second.Receive())
	refused(t, second.Err(), connect.CodeResourceExhausted, "apps.logStreams")
	_, err = f.api.Delete(t.Context(), &app.DeleteRequest{AppId: id("web")})
	require.NoError(t, err)
	for stream.Receive() {
	}
	require.NoError(t, stream.Err())
}

// TestTheLogsOfACrashLoop: earlier runs of a container come first, each line once, although the last of them can be read as the
// current one, too; later runs join in.
func TestTheLogsOfACrashLoop(t *testing.T) {
	f := newFixture(t, nil)
	d := f.deployer("", false)
	f.create(command("web"))
	d.eventually("web", "1:1 →0")
	uid := d.of("web").GetUid()
	var started atomic.Bool
	read := make(chan struct{}, 1) // the log of the run that has ended was read as the current one
	f.tails(func(_ context.Context, _ *enginev1.TailContainerRequest, send func(int, string)) error {
		if started.Load() {
			send(30, "third breaks")
			return nil
		}
		send(20, "second begins")
		send(20, "second breaks")
		select {
		case read <- struct{}{}:
		default:
		}
		return nil
	})
	f.steps()
	report := func(phase string, startedAt *timestamppb.Timestamp, attempts ...string) {
		t.Helper()
		all := replicas(1, 1, false)
		now := all.GetReplicas()[0]
		now.Name, now.Phase, now.Restarts, now.StartedAt = "pod", phase, 2, startedAt
		for i, text := range attempts {
			name := fmt.Sprintf("pod.attempt-%d", i+1)
			uri := f.blobs.Root() + "/flytesnacks/development/_apps/" + uid + "/logs/" + name + ".log"
			require.NoError(t, f.blobs.WriteAll(t.Context(), uri, []byte(text)))
			all.Replicas = append(all.Replicas, &enginev1.ObservedReplica{
				Name: name, Phase: "Ended", LogUri: uri, StartedAt: timestamppb.New(noon.Add(time.Duration(10*i) * time.Second)),
			})
		}
		d.report("web", all)
	}
	at := func(second int, text string) string {
		return noon.Add(time.Duration(second)*time.Second).Format(time.RFC3339Nano) + " " + text + "\n"
	}
	report("CrashLoopBackOff", nil, at(10, "first breaks"), at(20, "second begins")+at(20, "second breaks"))
	want := []string{"pod.attempt-1: first breaks", "pod.attempt-2: second begins", "pod.attempt-2: second breaks"}
	for _, target := range []*app.TailLogsRequest{
		{Target: &app.TailLogsRequest_AppId{AppId: id("web")}},
		{Target: &app.TailLogsRequest_ReplicaId{ReplicaId: &app.ReplicaIdentifier{AppId: id("web"), Name: "pod"}}},
	} {
		started.Store(false)
		report("CrashLoopBackOff", nil)
		go func() { // the container is started while the stream is open
			<-read
			started.Store(true)
			report("Running", timestamppb.New(noon.Add(25*time.Second)))
		}()
		lines, names := f.read(target, "third breaks")
		require.Equal(t, append(want[:3:3], "pod: third breaks"), lines)
		require.Subset(t, names, []string{"pod.attempt-1", "pod.attempt-2", "pod"})
	}
	lines, _ := f.read(&app.TailLogsRequest{Target: &app.TailLogsRequest_ReplicaId{ReplicaId: &app.ReplicaIdentifier{AppId: id("web"), Name: "pod.attempt-1"}}}, "")
	require.Equal(t, want[:1], lines)
}
