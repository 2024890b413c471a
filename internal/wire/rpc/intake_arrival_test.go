package rpc_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/slowbody"
)

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
