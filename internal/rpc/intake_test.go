package rpc_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/internal/slowbody"
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

type nobody struct{}

func (nobody) Authenticate(context.Context, http.Header) (rpc.Identity, error) {
	return rpc.Identity{}, rpc.Unauthenticated("the credential is invalid")
}

func TestNothingIsDecodedForThoseWhoAreRefused(t *testing.T) {
	const most = 2 << 20
	bombs := bombs(t)
	refused := func(t *testing.T, h http.Handler, path string, streams bool, code connect.Code) {
		for _, w := range wires(streams) {
			t.Run(w.name, func(t *testing.T) {
				cost(h, w.request(path, bombs[w.json()])) // what is made once
				bytes, answer := cost(h, w.request(path, bombs[w.json()]))
				requireCode(t, answer, code)
				require.Less(t, bytes, uint64(most))
			})
		}
	}
	open := guarded(t, rpc.Chain{}, counting{})
	t.Run("internal", func(t *testing.T) { refused(t, open, internal, false, connect.CodePermissionDenied) })
	t.Run("internal stream", func(t *testing.T) { refused(t, open, stream, true, connect.CodePermissionDenied) })
	closed := guarded(t, rpc.Chain{Authenticator: nobody{}}, counting{})
	t.Run("unary", func(t *testing.T) { refused(t, closed, large, false, connect.CodeUnauthenticated) })
	t.Run("watch", func(t *testing.T) { refused(t, closed, watch, true, connect.CodeUnauthenticated) })
}

// TestMessagesCostNoMoreThanTheLimit sends the same bombs as a caller who may call.
func TestMessagesCostNoMoreThanTheLimit(t *testing.T) {
	h := guarded(t, rpc.Chain{}, counting{})
	bombs := bombs(t)
	for path, c := range map[string]struct {
		streams bool
		most    uint64 // the limit, and the buffers into which it grows
	}{
		small: {false, 5 << 20}, watch: {true, 5 << 20},
		large: {false, 160 << 20}, internal: {false, 160 << 20}, stream: {true, 160 << 20},
	} {
		t.Run(path, func(t *testing.T) {
			for _, w := range wires(c.streams) {
				t.Run(w.name, func(t *testing.T) {
					request := w.request(path, bombs[w.json()])
					request.Header.Set(rpc.InternalTokenHeader, internalToken)
					bytes, answer := cost(h, request)
					requireCode(t, answer, connect.CodeResourceExhausted)
					require.Less(t, bytes, c.most)
				})
			}
		})
	}
}

func TestLimitOfAMessage(t *testing.T) {
	h := guarded(t, rpc.Chain{Limits: rpc.Limits{MessageBytes: 2 << 20}}, counting{})
	for name, c := range map[string]struct {
		path  string
		bytes int
		want  string
	}{
		"small":           {small, 1<<20 - 100, ""},
		"too large":       {small, 1 << 20, "takes at most 1048576 bytes"},
		"large":           {large, 2<<20 - 100, ""},
		"large, too":      {large, 2 << 20, "takes at most 2097152 bytes"},
		"large, absurdly": {large, 8 << 20, "takes at most 2097152 bytes"},
	} {
		for _, length := range []string{"declared", "not declared", "compressed"} {
			t.Run(name+", "+length, func(t *testing.T) {
				id := &common.RunIdentifier{Org: strings.Repeat("x", c.bytes), Project: "p", Domain: "d", Name: "r"}
				var message proto.Message = &workflow.GetRunDetailsRequest{RunId: id}
				if c.path == large {
					message = &workflow.CreateRunRequest{Id: &workflow.CreateRunRequest_RunId{RunId: id}}
				}
				body, err := proto.Marshal(message)
				require.NoError(t, err)
				r := httptest.NewRequest(http.MethodPost, c.path, bytes.NewReader(body))
				r.Header.Set("Content-Type", "application/proto")
				switch length {
				case "not declared":
					r.ContentLength = -1
				case "compressed":
					r = wires(false)[4].request(c.path, zipped(t, body))
				}
				_, answer := cost(h, r)
				require.NotContains(t, answer, `"unknown"`)
				if c.want == "" {
					require.NotContains(t, answer, "resource_exhausted")
					return
				}
				requireCode(t, answer, connect.CodeResourceExhausted)
				require.Contains(t, answer, c.want)
				require.Contains(t, answer, "store large values as files")
			})
		}
	}
}

func TestMalformedMessagesAreInvalid(t *testing.T) {
	h := guarded(t, rpc.Chain{}, counting{})
	deep := bytes.Repeat([]byte(`{"inputs":{"literals":[{"value":{"scalar":{"generic":{"a":`+strings.Repeat("[", 5000)), 1)
	for name, c := range map[string]struct {
		content, encoding string
		body              []byte
	}{
		"corrupt gzip":            {"application/proto", "gzip", []byte("no gzip at all")},
		"gzip that ends early":    {"application/proto", "gzip", bombs(t)[false][:100]},
		"corrupt gzip in a frame": {"application/grpc", "gzip", framed(1, []byte("no gzip at all"))},
		"undeclared compression":  {"application/grpc", "", framed(1, zipped(t, []byte("\x0a\x00")))},
		"frame that ends early":   {"application/grpc", "", framed(0, make([]byte, 10))[:9]},
		"half a frame":            {"application/grpc-web+proto", "", []byte{0, 0}},
		"nested too deeply":       {"application/json", "", deep},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, large, bytes.NewReader(c.body))
			r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/2.0", 2, 0
			r.Header.Set("Content-Type", c.content)
			if c.encoding != "" {
				r.Header.Set(map[bool]string{true: "Grpc-Encoding", false: "Content-Encoding"}[strings.Contains(c.content, "grpc")], c.encoding)
			}
			_, answer := cost(h, r)
			requireCode(t, answer, connect.CodeInvalidArgument)
		})
	}
}

// h2c serves HTTP/1 and HTTP/2 without TLS.
func h2c(t testing.TB, h http.Handler) (string, *http.Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return server.URL, &http.Client{Transport: transport}
}

func runWith(literals int) *workflow.CreateRunRequest {
	r := &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: &common.RunIdentifier{Project: "p", Domain: "d", Name: "r"}},
		Task: &workflow.CreateRunRequest_TaskId{TaskId: &task.TaskIdentifier{Project: "p", Domain: "d", Name: "n", Version: "v"}},
	}
	inputs := &task.Inputs{}
	for i := range literals {
		inputs.Literals = append(inputs.Literals, &task.NamedLiteral{Name: strings.Repeat("x", 1+i%100), Value: &core.Literal{
			Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
				Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: int64(i)}},
			}}},
		}})
	}
	r.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: inputs}
	return r
}

// TestHonestMessagesArrive sends messages of many sizes in every protocol, as calls and in streams, over a network.
func TestHonestMessagesArrive(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	url, client := h2c(t, slowbody.Guard(time.Minute, guarded(t, rpc.Chain{Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))}, counting{})))
	for name, protocol := range map[string][]connect.ClientOption{
		"Connect": nil, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()},
	} {
		for codec, options := range map[string][]connect.ClientOption{
			"": nil, " gzip": {connect.WithSendGzip()}, " JSON": {connect.WithProtoJSON()}, " JSON gzip": {connect.WithProtoJSON(), connect.WithSendGzip()},
		} {
			t.Run(name+codec, func(t *testing.T) {
				options := append([]connect.ClientOption{connect.WithClientOptions(protocol...), rpc.WithInternalToken(internalToken)}, options...)
				runs := workflowconnect.NewRunServiceClient(client, url, options...)
				for _, n := range []int{0, 1, 100, 5000} {
					response, err := runs.CreateRun(t.Context(), runWith(n))
					require.NoError(t, err)
					require.EqualValues(t, n, response.GetRun().GetAction().GetStatus().GetAttempts())
				}
				recorder := workflowconnect.NewInternalRunServiceClient(client, url, options...)
				events, err := recorder.RecordActionEventStream(t.Context())
				require.NoError(t, err)
				for _, n := range []int{1, 0, 10_000, 3, 100_000} {
					require.NoError(t, events.Send(event(n)))
					response, err := events.Receive()
					require.NoError(t, err)
					require.EqualValues(t, n, response.GetNonce())
				}
				require.NoError(t, events.CloseRequest())
				_, err = events.Receive()
				require.ErrorIs(t, err, io.EOF)
				require.NoError(t, events.CloseResponse())
			})
		}
	}
	require.Zero(t, sum(t, reader, "flyte.rpc.decoding"), "everything was given back")
}

// event is a message of about n bytes.
func event(n int) *workflow.RecordActionEventStreamRequest {
	return &workflow.RecordActionEventStreamRequest{Request: &workflow.RecordActionEventRequest{Event: &workflow.ActionEvent{
		Id:      &common.ActionIdentifier{Run: &common.RunIdentifier{Project: "p", Domain: "d", Name: "r"}, Name: "a0"},
		Attempt: 1, Cluster: strings.Repeat("x", n), UpdatedTime: timestamppb.New(time.Unix(1, 0)),
	}}}
}

// sum adds the points of a metric that have the attributes.
func sum(t *testing.T, reader sdkmetric.Reader, name string, with ...attribute.KeyValue) (total int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			for _, point := range m.Data.(metricdata.Sum[int64]).DataPoints {
				has := true
				for _, want := range with {
					value, ok := point.Attributes.Value(want.Key)
					has = has && ok && value == want.Value
				}
				if has {
					total += point.Value
				}
			}
		}
	}
	return total
}

// TestBytesThatAreDecodedAtOnceAreBounded fills the budget with a request that does not end.
func TestBytesThatAreDecodedAtOnceAreBounded(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	h := guarded(t, rpc.Chain{
		Meter:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		Limits: rpc.Limits{MessageBytes: 1 << 20, DecodingBytes: 4 << 20, Wait: 10 * time.Millisecond},
	}, counting{})
	url, client := h2c(t, h)

	// What arrives has 1 MiB, of which the request takes almost everything.
	body, send := io.Pipe()
	request, err := http.NewRequest(http.MethodPost, url+large, body)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/proto")
	answered := make(chan error, 1)
	go func() {
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
		}
		answered <- err
	}()
	_, err = send.Write(make([]byte, 1<<20-10))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return sum(t, reader, "flyte.rpc.decoding") > 900<<10 }, time.Minute, time.Millisecond)

	runs := workflowconnect.NewRunServiceClient(client, url)
	_, err = runs.CreateRun(t.Context(), runWith(2000))
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "server.maxDecodingBytes")
	_, err = runs.CreateRun(t.Context(), runWith(100))
	require.NoError(t, err, "small ones do not wait")

	require.NoError(t, send.Close())
	require.NoError(t, <-answered)
	_, err = runs.CreateRun(t.Context(), runWith(2000))
	require.NoError(t, err)
	require.Zero(t, sum(t, reader, "flyte.rpc.decoding"))
}

// TestDecodedMessagesDoNotCount keeps more messages in handlers than may be decoded at once.
func TestDecodedMessagesDoNotCount(t *testing.T) {
	c := counting{entered: make(chan struct{}), hold: make(chan struct{})}
	url, client := h2c(t, guarded(t, rpc.Chain{Limits: rpc.Limits{MessageBytes: 1 << 20, DecodingBytes: 4 << 20}}, c))
	runs := workflowconnect.NewRunServiceClient(client, url, connect.WithSendGzip())
	const calls = 20
	answered := make(chan error, calls)
	for range calls {
		go func() {
			_, err := runs.CreateRun(t.Context(), runWith(1500))
			answered <- err
		}()
	}
	for range calls {
		<-c.entered
	}
	close(c.hold)
	for range calls {
		require.NoError(t, <-answered)
	}
}

func TestSlowBodyIsAnsweredDeadlineExceeded(t *testing.T) {
	url, client := h2c(t, slowbody.Guard(50*time.Millisecond, guarded(t, rpc.Chain{}, counting{})))
	stuck, release := io.Pipe()
	defer release.Close() //nolint:errcheck // it is the test's own
	request, err := http.NewRequest(http.MethodPost, url+small, stuck)
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/proto")
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), `"code":"deadline_exceeded"`)
	require.Contains(t, string(body), "arrives too slowly")
}

// TestStreamMayBeSilent waits between the messages of a stream for longer than a body may bring nothing.
func TestStreamMayBeSilent(t *testing.T) {
	const grace = 50 * time.Millisecond
	url, client := h2c(t, slowbody.Guard(grace, guarded(t, rpc.Chain{}, counting{})))
	events, err := workflowconnect.NewInternalRunServiceClient(client, url, rpc.WithInternalToken(internalToken)).RecordActionEventStream(t.Context())
	require.NoError(t, err)
	for range 3 {
		<-time.After(2 * grace)
		require.NoError(t, events.Send(event(1)))
		_, err := events.Receive()
		require.NoError(t, err)
	}
	require.NoError(t, events.CloseRequest())
	_, err = events.Receive()
	require.ErrorIs(t, err, io.EOF)
}

// TestMessagesInAddressesAreLight calls by GET, where the size of the header is the limit.
func TestMessagesInAddressesAreLight(t *testing.T) {
	h := guarded(t, rpc.Chain{}, counting{})
	address := func(body []byte, compression string) *http.Request {
		return httptest.NewRequest(http.MethodGet, list+"?connect=v1&encoding=proto&base64=1&compression="+compression+
			"&message="+base64.RawURLEncoding.EncodeToString(body), nil)
	}
	_, answer := cost(h, address(bombs(t)[false], "gzip"))
	require.Contains(t, answer, `"code":"unimplemented"`)
	require.Contains(t, answer, "send large ones by POST")

	body, err := proto.Marshal(&workflow.ListRunsRequest{Request: &common.ListRequest{Filters: make([]*common.Filter, 24_000)}})
	require.NoError(t, err)
	bytes, answer := cost(h, address(body, ""))
	require.NotContains(t, answer, "send large ones by POST")
	require.Less(t, bytes, uint64(16<<20))
}

// TestBrokenRulesCostNoMoreThanTheLimit breaks two rules with every two bytes.
func TestBrokenRulesCostNoMoreThanTheLimit(t *testing.T) {
	h := guarded(t, rpc.Chain{}, counting{})
	for _, events := range []int{1000, 200_000} {
		r := httptest.NewRequest(http.MethodPost, internal, bytes.NewReader(bytes.Repeat([]byte("\x0a\x00"), events)))
		r.Header.Set("Content-Type", "application/proto")
		r.Header.Set(rpc.InternalTokenHeader, internalToken)
		bytes, answer := cost(h, r)
		requireCode(t, answer, connect.CodeInvalidArgument)
		require.Contains(t, answer, "events[0].id")
		require.Less(t, len(answer), 16<<10)
		require.Less(t, bytes, uint64(150<<20))
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer // GUARDED_BY(mu)
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// refused counts the lines about calls of a procedure that were refused with a code.
func (l *lines) refused(procedure string, code connect.Code) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, `"procedure":"`+procedure+`"`) && strings.Contains(line, `"code":"`+code.String()+`"`) &&
			strings.Contains(line, "call refused") {
			n++
		}
	}
	return n
}

// TestRefusedCallsAreCountedAndSomeLogged makes many calls of each kind that is refused.
func TestRefusedCallsAreCountedAndSomeLogged(t *testing.T) {
	var log lines
	reader := sdkmetric.NewManualReader()
	h := guarded(t, rpc.Chain{Log: zerolog.New(&log), Clock: clock.NewFake(time.Unix(1000, 0)), Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))}, counting{})
	url, client := h2c(t, h)
	const calls = 50
	for range calls {
		runs := workflowconnect.NewRunServiceClient(client, url)
		_, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{})
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
		_, err = runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: &common.RunIdentifier{Org: strings.Repeat("x", 1<<20)}})
		require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
		watch, err := runs.WatchRunDetails(t.Context(), &workflow.WatchRunDetailsRequest{})
		require.NoError(t, err)
		require.False(t, watch.Receive())
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(watch.Err()))
		require.NoError(t, watch.Close())
		_, err = workflowconnect.NewInternalRunServiceClient(client, url).RecordActionEvents(t.Context(), &workflow.RecordActionEventsRequest{})
		require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err))
	}
	for procedure, code := range map[string]connect.Code{small: connect.CodeInvalidArgument, watch: connect.CodeInvalidArgument, internal: connect.CodePermissionDenied} {
		require.EqualValues(t, calls, sum(t, reader, "flyte.rpc.refused", attribute.String("procedure", procedure), attribute.String("code", code.String())), procedure)
		require.Equal(t, 10, log.refused(procedure, code), procedure)
	}
	require.EqualValues(t, calls, sum(t, reader, "flyte.rpc.refused", attribute.String("procedure", small), attribute.String("code", "resource_exhausted")))
}

// panicking is an authenticator with a mistake.
type panicking struct{}

func (panicking) Authenticate(context.Context, http.Header) (rpc.Identity, error) {
	panic(errors.New("the key is missing"))
}

func TestPanicOfTheAuthenticatorIsInternal(t *testing.T) {
	h := guarded(t, rpc.Chain{Authenticator: panicking{}}, counting{})
	url, client := h2c(t, h)
	_, err := workflowconnect.NewRunServiceClient(client, url).GetRunDetails(t.Context(), someRun)
	require.Equal(t, connect.CodeInternal, connect.CodeOf(err))
	require.ErrorContains(t, err, "see the server log")
}
