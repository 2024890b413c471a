package rpc_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/slowbody"
)

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
	const grace = 300 * time.Millisecond // a busy machine delays a message, too
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
