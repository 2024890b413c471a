package pools_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pools"
)

// hungEngine accepts the stream of assignments and then says nothing.
type hungEngine struct {
	enginev1connect.UnimplementedEngineServiceHandler
	opens atomic.Int32
}

func (e *hungEngine) WatchAssignments(
	ctx context.Context, _ *enginev1.WatchAssignmentsRequest, _ *connect.ServerStream[enginev1.WatchAssignmentsResponse],
) error {
	e.opens.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

// A runs service that hangs would leave the actions of pools unscheduled forever.
func TestAssignmentsOfAHungServiceAreWatchedAgain(t *testing.T) {
	f := newFixture(t, nil)
	f.stop() // the lease goes to the service below
	engine := &hungEngine{}
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	mux.Handle(enginev1connect.NewEngineServiceHandler(engine, connect.WithHandlerOptions(mux.Options()...)))
	fake := clock.NewFake(time.Now())
	service, err := pools.New(f.config, pools.Deps{
		Pool: f.db, Engine: enginev1connect.NewEngineServiceClient(rpc.InProcess(mux), rpc.InProcessURL), Sink: f.sink, Store: f.blobs,
		Logger: zerolog.Nop(), Clock: fake,
	})
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) })
	f.eventually("the stream is opened again", func() bool {
		fake.Step(time.Second)
		return engine.opens.Load() >= 2
	})
}

// Controllers that subscribed together, after a restart of the server, do not come back together.
func TestStreamsOfWantedWorkersEndAtDifferentTimes(t *testing.T) {
	f := newFixture(t, nil)
	f.stop()
	fake := clock.NewFake(time.Now())
	mux, _ := f.replicaAt(fake)
	f.connect(mux)
	const streams = 20
	begin := fake.Now()
	var ends [streams]time.Duration
	var watching sync.WaitGroup
	opened := make(chan struct{}, streams)
	for i := range streams {
		watching.Go(func() {
			stream, err := f.fleet.WatchWorkers(t.Context(), &enginev1.WatchWorkersRequest{})
			if err != nil {
				return
			}
			defer stream.Close() //nolint:errcheck // nothing is written
			for first := true; stream.Receive(); first = false {
				if first {
					opened <- struct{}{}
				}
			}
			ends[i] = fake.Now().Sub(begin)
		})
	}
	for range streams {
		<-opened
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watching.Wait()
	}()
	f.eventually("all have ended", func() bool {
		fake.Step(time.Second)
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	earliest, latest := ends[0], ends[0]
	for _, end := range ends {
		earliest, latest = min(earliest, end), max(latest, end)
	}
	require.Greater(t, latest-earliest, f.config.MaxAge/20)
}

func TestStreamsMayBeSilentBetweenHeartbeats(t *testing.T) {
	config := pools.DefaultConfig()
	require.NoError(t, config.Validate())
	config.Heartbeat = config.MaxSilence
	require.ErrorContains(t, config.Validate(), "maxSilence: must be more than heartbeat, 1m0s")
}
