package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// A client takes canceled for its own cancellation and does not subscribe again.
func TestStreamsNeverEndWithCanceled(t *testing.T) {
	// end is how a stream ends for its client when the context of the call ends with a cause and the handler returns what it got.
	end := func(cause error) error {
		started := make(chan struct{})
		h := mux(rpc.Chain{}, behaviour{details: func(ctx context.Context) error {
			close(started)
			if cause != nil {
				<-ctx.Done()
			}
			return fmt.Errorf("send: %w", context.Canceled)
		}})
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r.WithContext(ctx)) }))
		answered := make(chan error)
		go func() {
			stream, err := workflowconnect.NewRunServiceClient(http.DefaultClient, url).WatchRunDetails(t.Context(), &workflow.WatchRunDetailsRequest{RunId: someRun.RunId})
			if err == nil {
				stream.Receive()
				err = errors.Join(stream.Err(), stream.Close())
			}
			answered <- err
		}()
		<-started
		cancel(cause)
		return <-answered
	}
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(end(rpc.ErrShuttingDown)))
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(end(rpc.PermissionDenied("the right was taken away"))), "the cause is the answer")
	require.NoError(t, end(context.Canceled), "the client has left")
	interrupted := call(t, rpc.Chain{}, func(context.Context) error { return fmt.Errorf("send: %w", context.Canceled) })
	require.Equal(t, connect.CodeUnavailable, interrupted.Code(), "something within the server was canceled")
}
