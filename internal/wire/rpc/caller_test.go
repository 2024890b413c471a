package rpc_test

import (
	"context"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// attempt is an authenticator whose only caller is an attempt.
type attempt struct {
	kind authz.Kind
	err  atomic.Pointer[error]
	asks atomic.Int32
}

func (a *attempt) Authenticate(context.Context, authz.Request) (authz.Identity, error) {
	a.asks.Add(1)
	if err := a.err.Load(); err != nil {
		return authz.Identity{}, *err
	}
	return authz.Identity{Kind: a.kind, Subject: "t"}, nil
}

func (a *attempt) fails(err error) { a.err.Store(&err) }

// TestAStreamEndsWithItsTask: within seconds after the attempt has ended, and not while no one can tell. A person's stream stays.
func TestAStreamEndsWithItsTask(t *testing.T) {
	for _, kind := range []authz.Kind{authz.Task, authz.User} {
		t.Run(kind.String(), func(t *testing.T) {
			now, caller, finish := clock.NewFake(time.Now()), &attempt{kind: kind}, make(chan struct{})
			mux, err := rpc.NewGuardedMux(rpc.Chain{Authenticator: caller, Clock: now})
			require.NoError(t, err)
			mux.Handle(workflowconnect.NewRunServiceHandler(watching{handle: func(ctx context.Context, send func() error) error {
				if err := send(); err != nil {
					return err
				}
				select {
				case <-ctx.Done():
				case <-finish:
				}
				return nil
			}}, mux.Options()...))
			server := httptest.NewServer(mux)
			defer server.Close()
			stream, err := workflowconnect.NewRunServiceClient(server.Client(), server.URL).
				WatchRunDetails(t.Context(), &workflow.WatchRunDetailsRequest{RunId: someRun.RunId})
			require.NoError(t, err)
			require.True(t, stream.Receive(), "%v", stream.Err())
			step := func() { // to the next look at the caller
				before := caller.asks.Load()
				require.Eventually(t, func() bool { now.Step(5 * time.Second); return caller.asks.Load() > before }, 10*time.Second, time.Millisecond)
			}
			if kind == authz.Task {
				step()
				caller.fails(rpc.Unavailable(nil, "no one can tell"))
				step()
				caller.fails(rpc.Unauthenticated("attempt 1 has ended"))
				step()
			} else {
				caller.fails(rpc.Unauthenticated("the session has ended"))
				now.Step(time.Minute)
				close(finish)
			}
			require.False(t, stream.Receive())
			if kind == authz.Task {
				require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(stream.Err()), "%v", stream.Err())
				require.ErrorContains(t, stream.Err(), "attempt 1 has ended")
			} else {
				require.NoError(t, stream.Err())
				require.Equal(t, int32(1), caller.asks.Load())
			}
			require.NoError(t, stream.Close())
		})
	}
}
