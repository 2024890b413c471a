package manager_test

import (
	"context"
	"encoding/hex"
	"net"
	"net/http"
	"os"
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

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kubetest"
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

// named is the span of a trace with a name; nil if none has arrived.
func (r *traceReceiver) named(trace, name string) *tracepb.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, span := range r.spans {
		if span.GetName() == name && hex.EncodeToString(span.GetTraceId()) == trace {
			return span
		}
	}
	return nil
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

// A client's trace goes on through CreateRun, admission and the attempt, into the process of the task.
func TestATraceGoesFromTheClientToTheTask(t *testing.T) {
	const trace, caller = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	cluster := kubetest.New(t)
	receiver, address := startReceiver(t)
	// Only the standard variables say where spans go.
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	config := onCluster(t, cluster)
	url := startServer(t, config, cluster.Config)
	inTask := make(chan string, 1)
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{Program: func(_ context.Context, pod *corev1.Pod) kubetest.Result {
		container := pod.Spec.Containers[0]
		found := ""
		for _, variable := range container.Env {
			if variable.Name == "TRACEPARENT" {
				found = variable.Value
			}
		}
		inTask <- found
		dir := container.Args[0]
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
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Id:   &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello.main", Version: "1"},
			Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1", Args: []string{"{{.outputPrefix}}"}}},
		}}},
	})
	ctx, info := connect.NewClientContext(t.Context())
	info.RequestHeader().Set("Traceparent", "00-"+trace+"-"+caller+"-01")
	_, err := workflowconnect.NewRunServiceClient(http.DefaultClient, url).CreateRun(ctx, request.Msg)
	require.NoError(t, err)

	var created *tracepb.Span
	for _, name := range []string{"flyteidl2.workflow.RunService/CreateRun", "admit action", "assign action", "run attempt"} {
		var span *tracepb.Span
		require.Eventually(t, func() bool { span = receiver.named(trace, name); return span != nil }, time.Minute, 20*time.Millisecond, name)
		if created == nil {
			created = span
			require.Equal(t, caller, hex.EncodeToString(span.GetParentSpanId()), "the client's span is the parent")
			continue
		}
		require.Equal(t, created.GetSpanId(), span.GetParentSpanId(), name)
		attributes := map[string]string{}
		for _, attribute := range span.GetAttributes() {
			attributes[attribute.GetKey()] = attribute.GetValue().GetStringValue()
		}
		require.Equal(t, "traced", attributes["flyte.run"], name)
		require.Equal(t, "a0", attributes["flyte.action"], name)
		require.LessOrEqual(t, span.GetStartTimeUnixNano(), span.GetEndTimeUnixNano(), name)
	}
	require.Equal(t, "00-"+trace+"-"+hex.EncodeToString(created.GetSpanId())+"-01", <-inTask)

	// The latencies of the call name the trace, to scrapers that understand it.
	code, _, body := do(t, http.MethodGet, url+"/metrics", nil, map[string]string{"Accept": "application/openmetrics-text;version=1.0.0"})
	require.Equal(t, http.StatusOK, code)
	require.Regexp(t, `rpc_server_call_duration_seconds_bucket\{[^}]*CreateRun[^}]*\} \d+ # \{[^}]*trace_id="`+trace+`"`, body)
}
