package manager_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

// traceReceiver is an OpenTelemetry collector that keeps the spans.
type traceReceiver struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []*tracepb.Span // GUARDED_BY(mu)
}

// Export implements collector.TraceServiceServer.
func (r *traceReceiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range request.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// named is the span of a trace with a name and, unless action is empty, that action; nil if none has arrived.
func (r *traceReceiver) named(trace, name, action string) *tracepb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, span := range r.spans {
		if span.GetName() == name && hex.EncodeToString(span.GetTraceId()) == trace && (action == "" || attributesOf(span)["flyte.action"] == action) {
			return span
		}
	}
	return nil
}

func attributesOf(span *tracepb.Span) map[string]string {
	attributes := map[string]string{}
	for _, attribute := range span.GetAttributes() {
		attributes[attribute.GetKey()] = attribute.GetValue().GetStringValue()
	}
	return attributes
}

func startReceiver(t *testing.T) (*traceReceiver, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	receiver, server := &traceReceiver{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, receiver)
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }() // it returns on Stop
	t.Cleanup(func() { server.Stop(); <-served })
	return receiver, listener.Addr().String()
}

// startCollector puts the OpenTelemetry Collector in front of a receiver and returns its address.
func startCollector(t *testing.T, receiver string) string {
	t.Helper()
	program, err := filepath.Abs("../.bin/otelcol")
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Skip("the collector is not built: run `make otelcol`")
	}
	address, path := freeAddress(t), filepath.Join(t.TempDir(), "collector.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `
receivers: {otlp: {protocols: {grpc: {endpoint: %q}}}}
exporters: {otlp: {endpoint: %q, tls: {insecure: true}}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {traces: {receivers: [otlp], exporters: [otlp]}}
`, address, receiver), 0o600))
	var output bytes.Buffer
	command := exec.Command(program, "--config", "file:"+path)
	command.Stdout, command.Stderr = &output, &output
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		require.NoError(t, command.Process.Signal(os.Interrupt))
		require.NoError(t, command.Wait(), output.String())
	})
	require.Eventually(t, func() bool {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond, "the collector listens")
	return address
}

func TestATraceGoesFromTheClientToTheTask(t *testing.T) {
	t.Run("to a receiver", func(t *testing.T) {
		receiver, address := startReceiver(t)
		traceOfAClient(t, receiver, address)
	})
	t.Run("through the collector", func(t *testing.T) {
		receiver, address := startReceiver(t)
		traceOfAClient(t, receiver, startCollector(t, address))
	})
}

// traceOfAClient: a client's trace continues through CreateRun, admission and the attempt, into the process of the task, and from there through the
// child that the attempt enqueues into the child's process.
func traceOfAClient(t *testing.T, receiver *traceReceiver, address string) {
	t.Helper()
	const trace, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	cluster := kubetest.New(t)
	// Only the standard variables say where spans go.
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	config := onCluster(t, cluster)
	url := startServer(t, config, cluster.Config)
	taskOf := func(name string) *task.TaskSpec {
		return &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Id:   &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello." + name, Version: "1"},
			Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1", Args: []string{"{{.outputPrefix}}", name}}},
		}}
	}
	enqueue := func(ctx context.Context) error {
		parent, base := "a0", config.Storage.URL+"/flytesnacks/development/traced/"
		_, err := actionsconnect.NewActionsServiceClient(http.DefaultClient, url).Enqueue(ctx, &actions.EnqueueRequest{Action: &actions.Action{
			ActionId:         &common.ActionIdentifier{Run: runOf("flytesnacks", "traced"), Name: "child"},
			ParentActionName: &parent, RunOutputBase: base, InputUri: base + "child/inputs.pb",
			Spec: &actions.Action_Task{Task: &workflow.TaskAction{Spec: taskOf("child")}},
		}})
		return err
	}
	inTask, childEnded := map[string]chan string{"parent": make(chan string, 1), "child": make(chan string, 1)}, make(chan struct{})
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		container := pod.Spec.Containers[0]
		dir, name := container.Args[0], container.Args[1]
		for _, variable := range container.Env {
			if variable.Name == "TRACEPARENT" {
				inTask[name] <- variable.Value
			}
		}
		if name == "parent" {
			if enqueue(ctx) != nil {
				return kubetest.Result{ExitCode: 1}
			}
			<-childEnded // the parent's span is recorded after all of the child's
		}
		if os.MkdirAll(dir, 0o755) != nil || os.WriteFile(filepath.Join(dir, "outputs.pb"), nil, 0o600) != nil {
			return kubetest.Result{ExitCode: 1}
		}
		return kubetest.Result{}
	}})
	request := connect.NewRequest(&workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: runOf("flytesnacks", "traced")},
		RunSpec: &task.RunSpec{Envs: &task.Envs{Values: []*core.KeyValuePair{
			{Key: "TRACEPARENT", Value: "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-01"}, // of an earlier run
			{Key: "KEPT", Value: "yes"},
		}}},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: taskOf("parent")},
	})
	ctx, info := connect.NewClientContext(t.Context())
	info.RequestHeader().Set("Traceparent", "00-"+trace+"-"+caller+"-01")
	_, err := workflowconnect.NewRunServiceClient(http.DefaultClient, url).CreateRun(ctx, request.Msg)
	require.NoError(t, err)

	await := func(name, action string) (span *tracepb.Span) {
		require.Eventually(t, func() bool { span = receiver.named(trace, name, action); return span != nil }, time.Minute, 20*time.Millisecond, name+action)
		require.LessOrEqual(t, span.GetStartTimeUnixNano(), span.GetEndTimeUnixNano(), name)
		return span
	}
	created := await("flyteidl2.workflow.RunService/CreateRun", "")
	require.Equal(t, caller, hex.EncodeToString(created.GetParentSpanId()), "the client's span is the parent")
	childAttempt := await("run attempt", "child")
	close(childEnded)
	parentAttempt := await("run attempt", "a0")
	for action, above := range map[string]*tracepb.Span{"a0": created, "child": parentAttempt} {
		for _, name := range []string{"admit action", "assign action", "run attempt"} {
			span := await(name, action)
			require.Equal(t, above.GetSpanId(), span.GetParentSpanId(), name+" of "+action)
			require.Equal(t, "traced", attributesOf(span)["flyte.run"], name)
		}
	}
	require.Equal(t, "00-"+trace+"-"+hex.EncodeToString(parentAttempt.GetSpanId())+"-01", <-inTask["parent"])
	require.Equal(t, "00-"+trace+"-"+hex.EncodeToString(childAttempt.GetSpanId())+"-01", <-inTask["child"])

	// The latencies of the call name the trace, to scrapers that understand it.
	code, _, body := do(t, http.MethodGet, url+"/metrics", nil, map[string]string{"Accept": "application/openmetrics-text;version=1.0.0"})
	require.Equal(t, http.StatusOK, code)
	require.Regexp(t, `rpc_server_call_duration_seconds_bucket\{[^}]*CreateRun[^}]*\} \d+ # \{[^}]*trace_id="`+trace+`"`, body)
}
