package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

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

func (panicking) Authenticate(context.Context, authz.Request) (authz.Identity, error) {
	panic(errors.New("the key is missing"))
}

func TestPanicOfTheAuthenticatorIsInternal(t *testing.T) {
	h := guarded(t, rpc.Chain{Authenticator: panicking{}}, counting{})
	url, client := h2c(t, h)
	_, err := workflowconnect.NewRunServiceClient(client, url).GetRunDetails(t.Context(), someRun)
	require.Equal(t, connect.CodeInternal, connect.CodeOf(err))
	require.ErrorContains(t, err, "see the server log")
}
