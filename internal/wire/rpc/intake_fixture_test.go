package rpc_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// counting answers with what it received.
type counting struct {
	workflowconnect.UnimplementedRunServiceHandler
	workflowconnect.UnimplementedInternalRunServiceHandler
	// If set, CreateRun says that it was entered and waits.
	entered, hold chan struct{}
}

func (c counting) CreateRun(_ context.Context, r *workflow.CreateRunRequest) (*workflow.CreateRunResponse, error) {
	if c.hold != nil {
		c.entered <- struct{}{}
		<-c.hold
	}
	return &workflow.CreateRunResponse{Run: &workflow.Run{Action: &workflow.Action{
		Status: &workflow.ActionStatus{Attempts: uint32(len(r.GetInputs().GetLiterals()))},
	}}}, nil
}

func (counting) GetRunDetails(context.Context, *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error) {
	return &workflow.GetRunDetailsResponse{}, nil
}

func (counting) RecordActionEventStream(
	_ context.Context, s *connect.BidiStream[workflow.RecordActionEventStreamRequest, workflow.RecordActionEventStreamResponse],
) error {
	return rpc.AnswerEach(s, func(r *workflow.RecordActionEventStreamRequest) (*workflow.RecordActionEventStreamResponse, error) {
		return &workflow.RecordActionEventStreamResponse{Nonce: int64(len(r.GetRequest().GetEvent().GetCluster()))}, nil
	})
}

const internalToken = "internal"

func guarded(t testing.TB, chain rpc.Chain, c counting) *rpc.Mux {
	t.Helper()
	chain.InternalToken = internalToken
	m, err := rpc.NewGuardedMux(chain)
	require.NoError(t, err)
	m.Handle(workflowconnect.NewRunServiceHandler(c, m.Options()...))
	m.Handle(workflowconnect.NewInternalRunServiceHandler(c, m.Options()...))
	return m
}

// The procedures of the tests: with small and with large messages, with one and with several, for everybody and not.
const (
	small    = "/flyteidl2.workflow.RunService/GetRunDetails"
	large    = "/flyteidl2.workflow.RunService/CreateRun"
	list     = "/flyteidl2.workflow.RunService/ListRuns"
	watch    = "/flyteidl2.workflow.RunService/WatchRunDetails"
	internal = "/flyteidl2.workflow.InternalRunService/RecordActionEvents"
	stream   = "/flyteidl2.workflow.InternalRunService/RecordActionEventStream"
)

func zipped(t testing.TB, body []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(body)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return packed.Bytes()
}

// bombs have 16 KiB, which unpack to 16 MiB of empty messages. The key is whether they are in JSON.
func bombs(t testing.TB) map[bool][]byte {
	t.Helper()
	packed := map[bool][]byte{
		false: zipped(t, bytes.Repeat([]byte("\x0a\x00"), 8<<20)),
		true:  zipped(t, []byte(`{"events":[`+strings.Repeat(`{},`, 5<<20)+`{}]}`)),
	}
	for _, body := range packed {
		require.Less(t, len(body), 20<<10)
	}
	return packed
}

func framed(flag byte, body []byte) []byte {
	head := binary.BigEndian.AppendUint32([]byte{flag}, uint32(len(body)))
	return append(head, body...)
}

// wire is a protocol with a codec.
type wire struct{ name, content, encoding string }

func wires(streams bool) []wire {
	all := []wire{
		{"gRPC", "application/grpc", "Grpc-Encoding"},
		{"gRPC JSON", "application/grpc+json", "Grpc-Encoding"},
		{"gRPC-Web", "application/grpc-web+proto", "Grpc-Encoding"},
		{"gRPC-Web JSON", "application/grpc-web+json", "Grpc-Encoding"},
	}
	if streams {
		return append(all, wire{"Connect", "application/connect+proto", "Connect-Content-Encoding"},
			wire{"Connect JSON", "application/connect+json", "Connect-Content-Encoding"})
	}
	return append(all, wire{"Connect", "application/proto", "Content-Encoding"}, wire{"Connect JSON", "application/json", "Content-Encoding"})
}

func (w wire) json() bool   { return strings.HasSuffix(w.content, "json") }
func (w wire) framed() bool { return w.encoding != "Content-Encoding" }

// request is a call with a compressed message.
func (w wire) request(path string, packed []byte) *http.Request {
	if w.framed() {
		packed = framed(1, packed)
	}
	r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(packed))
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
	r.Header.Set("Content-Type", w.content)
	r.Header.Set(w.encoding, "gzip")
	for _, header := range []string{"Accept-Encoding", "Connect-Accept-Encoding", "Grpc-Accept-Encoding"} {
		r.Header.Set(header, "identity")
	}
	return r
}

// cost serves a request in this goroutine. It returns what that allocated, kept or not, and what was answered.
func cost(h http.Handler, r *http.Request) (bytes uint64, answer string) {
	recorder := httptest.NewRecorder()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	h.ServeHTTP(recorder, r)
	runtime.ReadMemStats(&after)
	answer = recorder.Body.String()
	for name, values := range recorder.Header() {
		answer += "\n" + name + ": " + strings.Join(values, ",")
	}
	return after.TotalAlloc - before.TotalAlloc, answer
}

// requireCode looks for a code in the form of any protocol.
func requireCode(t *testing.T, answer string, code connect.Code) {
	t.Helper()
	number := map[connect.Code]string{
		connect.CodePermissionDenied: "7", connect.CodeResourceExhausted: "8", connect.CodeUnauthenticated: "16",
		connect.CodeInvalidArgument: "3",
	}[code]
	lower := strings.ToLower(answer)
	require.True(t, strings.Contains(answer, `"code":"`+code.String()+`"`) || strings.Contains(lower, "grpc-status: "+number+"\r") ||
		strings.Contains(lower+"\n", "grpc-status: "+number+"\n"), "want %s in %q", code, answer)
}
