package links_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters"
	"github.com/flyte-binary/flyte-binary/clusters/links"
	"github.com/flyte-binary/flyte-binary/clusters/outgoing"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1/clustersv1connect"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	wait = time.Minute
	tick = 10 * time.Millisecond
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

// replica is one replica of the API.
type replica struct {
	*clusters.Service
	client connect.HTTPClient
}

func startReplica(t *testing.T, pool *pgxpool.Pool, version string) *replica {
	t.Helper()
	service, err := clusters.New(clusters.Deps{
		Pool: pool, Version: version, Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
		PodPolicy: func(text string) error {
			if !strings.HasPrefix(text, "{") {
				return fmt.Errorf("%s is no policy", text)
			}
			return nil
		},
	})
	require.NoError(t, err)
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	service.Mount(mux)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) })
	return &replica{service, rpc.InProcess(mux)}
}

func (r *replica) tail(ctx context.Context, cluster string) (*connect.ServerStreamForClient[enginev1.TailContainerResponse], error) {
	return clustersv1connect.NewClusterLogServiceClient(r.client, rpc.InProcessURL).TailClusterLog(ctx, &clustersv1.TailClusterLogRequest{
		Cluster: cluster, Request: &enginev1.TailContainerRequest{Namespace: "n", Pod: "p", Follow: true},
	})
}

// address is the one address of all replicas. Each call goes to the next one, as through a proxy.
type address struct {
	mu      sync.Mutex
	clients []connect.HTTPClient // GUARDED_BY(mu): none while it is unreachable
	calls   int                  // GUARDED_BY(mu)
	open    map[int]context.CancelFunc
}

var errUnreachable = errors.New("unreachable")

func (a *address) leads(replicas ...*replica) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients = nil
	for _, one := range replicas {
		a.clients = append(a.clients, one.client)
	}
	if len(replicas) == 0 {
		for _, end := range a.open {
			end()
		}
	}
}

// Do implements connect.HTTPClient.
func (a *address) Do(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	if len(a.clients) == 0 {
		a.mu.Unlock()
		return nil, errUnreachable
	}
	a.calls++
	client := a.clients[a.calls%len(a.clients)]
	ctx, cancel := context.WithCancel(r.Context())
	if a.open == nil {
		a.open = map[int]context.CancelFunc{}
	}
	a.open[a.calls] = cancel
	a.mu.Unlock()
	return client.Do(r.WithContext(ctx))
}

// pod writes a log.
type pod struct {
	write   func(ctx context.Context, line func(string) error) error
	written atomic.Int64
	read    atomic.Int32 // how often it is being read
}

func (p *pod) TailContainer(ctx context.Context, r *enginev1.TailContainerRequest, to *connect.ServerStream[enginev1.TailContainerResponse]) error {
	p.read.Add(1)
	defer p.read.Add(-1)
	if r.GetPod() != "p" || !r.GetFollow() {
		return rpc.Internal(nil, "the request has changed on its way")
	}
	return p.write(ctx, func(text string) error {
		p.written.Add(1)
		return to.Send(&enginev1.TailContainerResponse{Lines: []*dataplane.LogLine{{Message: text}}})
	})
}

// controller connects a controller of a cluster to an address.
func controller(t *testing.T, at connect.HTTPClient, cluster, version string, p *pod, change ...func(*outgoing.Deps)) *outgoing.Service {
	t.Helper()
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	mux.Handle(enginev1connect.NewPodLogServiceHandler(p, mux.Options()...))
	deps := outgoing.Deps{
		API:  clustersv1connect.NewClusterLinkServiceClient(at, rpc.InProcessURL),
		Logs: enginev1connect.NewPodLogServiceClient(rpc.InProcess(mux), rpc.InProcessURL),
		Hello: func(_ context.Context, hello *clustersv1.ConnectRequest) error {
			hello.Plugins, hello.TaskTypes, hello.Labels = []string{"pod", "ray"}, []string{"ray"}, map[string]string{"zone": "a"}
			return nil
		},
		Cluster: cluster, Version: version, Clock: clock.System{}, Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
	}
	for _, c := range change {
		c(&deps)
	}
	service, err := outgoing.New(deps)
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) })
	return service
}

// awaitState waits until the state of a cluster is as wanted.
func awaitState(t *testing.T, of *replica, cluster string, wanted func(states.State) bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		all, err := of.States().All(t.Context())
		require.NoError(t, err)
		for _, one := range all {
			if one.Name == cluster && wanted(one) {
				return true
			}
		}
		return false
	}, wait, tick)
}

func connected(s states.State) bool { return s.Controllers == 1 && s.Takes(time.Now()) }

// lines writes numbered lines.
func lines(n int) func(ctx context.Context, line func(string) error) error {
	return func(_ context.Context, line func(string) error) error {
		for i := range n {
			if err := line(fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// inOrder reads a log to its end, which must have each of n numbered lines once.
func inOrder(t *testing.T, log *connect.ServerStreamForClient[enginev1.TailContainerResponse], n int) {
	t.Helper()
	next := 0
	for log.Receive() {
		for _, line := range log.Msg().GetLines() {
			require.Equal(t, fmt.Sprint(next), line.GetMessage())
			next++
		}
	}
	require.NoError(t, log.Err())
	require.Equal(t, n, next)
	require.NoError(t, log.Close())
}

// TestALogFindsItsReader: the order may have to go to another replica than the one that was asked, and each batch reaches another one.
func TestALogFindsItsReader(t *testing.T) {
	t.Parallel()
	pool := pgtest.Schemas(t, store.Schema())
	a, b := startReplica(t, pool, "1.4.0"), startReplica(t, pool, "1.4.0")
	all := &address{}
	all.leads(a, b)
	controller(t, all, "east", "1.5.1", &pod{write: lines(5000)})
	awaitState(t, a, "east", connected)
	for _, reader := range []*replica{a, b} {
		log, err := reader.tail(t.Context(), "east")
		require.NoError(t, err)
		inOrder(t, log, 5000)
	}
	var left int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM cluster_tails) + (SELECT count(*) FROM cluster_tail_batches)`).Scan(&left))
	require.Zero(t, left)

	log, err := a.tail(t.Context(), "west")
	require.NoError(t, err)
	require.False(t, log.Receive())
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(log.Err()))
	require.ErrorContains(t, log.Err(), "cluster west is not connected")

	rows := store.New(pool)
	require.NoError(t, rows.Add(t.Context(), store.Cluster{Name: "south", CreatedAt: time.Now()}, store.Credential{ID: "c", Cluster: "south", CreatedAt: time.Now()}, []byte("c")))
	require.NoError(t, rows.Connect(t.Context(), store.Hello{Cluster: "south", Instance: "one", Link: "l", Replica: "r", Version: "1.4.0"}, false))
	_, err = pool.Exec(t.Context(), `UPDATE cluster_states SET seen_at = now() - interval '1 minute' WHERE cluster = 'south'`)
	require.NoError(t, err)
	a.States().Forget()
	log, err = a.tail(t.Context(), "south")
	require.NoError(t, err)
	require.False(t, log.Receive())
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(log.Err()))
	require.ErrorContains(t, log.Err(), "cluster south is away since "+time.Now().UTC().Format("2006"))
	require.ErrorContains(t, log.Err(), "continue when it is back")
}

func TestTheErrorOfALogReachesItsReader(t *testing.T) {
	t.Parallel()
	a := startReplica(t, pgtest.Schemas(t, store.Schema()), "")
	controller(t, a.client, "east", "", &pod{write: func(context.Context, func(string) error) error { return rpc.NotFound("pod p does not exist") }})
	awaitState(t, a, "east", connected)
	log, err := a.tail(t.Context(), "east")
	require.NoError(t, err)
	require.False(t, log.Receive())
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(log.Err()))
	require.ErrorContains(t, log.Err(), "pod p does not exist")
}

// TestAReaderThatLeavesEndsTheLog, at the controller too, also while the log has no new lines.
func TestAReaderThatLeavesEndsTheLog(t *testing.T) {
	t.Parallel()
	pool := pgtest.Schemas(t, store.Schema())
	a, b := startReplica(t, pool, ""), startReplica(t, pool, "")
	quiet := &pod{write: func(ctx context.Context, line func(string) error) error {
		if err := line("0"); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	controller(t, b.client, "east", "", quiet) // the reader is at a
	awaitState(t, a, "east", connected)
	ctx, leave := context.WithCancel(t.Context())
	log, err := a.tail(ctx, "east")
	require.NoError(t, err)
	require.True(t, log.Receive())
	require.EqualValues(t, 1, quiet.read.Load())
	leave()
	require.Eventually(t, func() bool { return quiet.read.Load() == 0 }, wait, tick)
}

// TestASlowReaderHoldsTheLog: a log without a reader is not read further at its pod, and nothing grows.
func TestASlowReaderHoldsTheLog(t *testing.T) {
	t.Parallel()
	for name, elsewhere := range map[string]bool{"at the reader's replica": false, "at another replica": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.Schemas(t, store.Schema())
			a, b := startReplica(t, pool, ""), startReplica(t, pool, "")
			text := string(make([]byte, 10_000))
			endless := &pod{write: func(ctx context.Context, line func(string) error) error {
				for ctx.Err() == nil {
					if err := line(text); err != nil {
						return err
					}
				}
				return ctx.Err()
			}}
			linked := a
			if elsewhere {
				linked = b
			}
			controller(t, linked.client, "east", "", endless)
			awaitState(t, a, "east", connected)
			log, err := a.tail(t.Context(), "east")
			require.NoError(t, err)
			require.True(t, log.Receive())
			before := int64(-1)
			require.Eventually(t, func() bool {
				now := endless.written.Load()
				still := now == before
				before = now
				return still
			}, wait, 2*time.Second)
			require.Less(t, before, int64(2000), "20 MB")
			for endless.written.Load() == before {
				require.True(t, log.Receive(), "it continues")
			}
			require.NoError(t, log.Close())
		})
	}
}

// TestALinkThatBreaks is opened again, to a replica that is there. The log that was being sent continues without a gap.
func TestALinkThatBreaks(t *testing.T) {
	t.Parallel()
	pool := pgtest.Schemas(t, store.Schema())
	a, b := startReplica(t, pool, ""), startReplica(t, pool, "")
	all := &address{}
	all.leads(b)
	broken, restored := make(chan struct{}), make(chan struct{})
	controller(t, all, "east", "", &pod{write: func(ctx context.Context, line func(string) error) error {
		for i := range 2000 {
			if i == 1000 {
				close(broken)
				<-restored
			}
			if err := line(fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	}})
	awaitState(t, a, "east", connected)
	log, err := a.tail(t.Context(), "east")
	require.NoError(t, err)
	<-broken
	all.leads()
	close(restored)
	awaitState(t, a, "east", func(s states.State) bool { return s.Away(time.Now()) && s.Controllers == 0 && !s.Takes(time.Now()) })
	require.NoError(t, b.Stop(t.Context()))
	all.leads(a)
	awaitState(t, a, "east", connected)
	inOrder(t, log, 2000)
}

func TestVersionsApart(t *testing.T) {
	t.Parallel()
	for _, pair := range []struct {
		controller, api string
		works           bool
	}{
		{"1.4.0", "1.4.9", true},
		{"v1.5.0-rc.1", "1.4.0", true},
		{"1.3.7", "1.4.0", true},
		{"1.6.0", "1.4.0", false},
		{"1.2.9", "1.4.0", false},
		{"2.4.0", "1.4.0", false},
		{"0.9.1", "1.0.0", false},
		{"dev", "1.4.0", true},
		{"1.4.0", "", true},
		{"0.0.0", "1.4.0", true},
		{"1.40.0", "1.4.0", false},
	} {
		require.Equal(t, pair.works, links.Compatible(pair.controller, pair.api), "%+v", pair)
		require.Equal(t, pair.works, links.Compatible(pair.api, pair.controller), "%+v", pair)
	}

	a := startReplica(t, pgtest.Schemas(t, store.Schema()), "1.4.0")
	for _, version := range []string{"1.2.0", "1.6.0"} {
		log, err := clustersv1connect.NewClusterLinkServiceClient(a.client, rpc.InProcessURL).
			Connect(t.Context(), &clustersv1.ConnectRequest{Cluster: "east", Instance: "i", Version: version})
		require.NoError(t, err)
		require.False(t, log.Receive())
		require.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(log.Err()))
		require.ErrorContains(t, log.Err(), "the controller of cluster east is of version "+version+", and the API of version 1.4.0")
	}
	all, err := a.States().All(t.Context())
	require.NoError(t, err)
	require.Empty(t, all, "it is not there")
}

// TestARefusedControllerIsSeen until one connects that works.
func TestARefusedControllerIsSeen(t *testing.T) {
	t.Parallel()
	a := startReplica(t, pgtest.Schemas(t, store.Schema()), "1.4.0")
	works := controller(t, a.client, "east", "1.3.0", &pod{})
	awaitState(t, a, "east", connected)
	require.NoError(t, works.Stop(t.Context()))
	old := controller(t, a.client, "east", "1.2.0", &pod{})
	awaitState(t, a, "east", func(s states.State) bool { return s.Refused == "1.2.0" && s.Version == "1.3.0" })
	registry := clustersv1connect.NewClusterRegistryServiceClient(a.client, rpc.InProcessURL)
	listed, err := registry.ListClusters(t.Context(), &clustersv1.ListClustersRequest{})
	require.NoError(t, err)
	require.Equal(t, "version 1.2.0 does not work with version 1.4.0 of the API: upgrade one of them", listed.GetClusters()[0].GetVersionNote())
	require.NoError(t, old.Stop(t.Context()))
	controller(t, a.client, "east", "1.5.0", &pod{})
	awaitState(t, a, "east", func(s states.State) bool { return s.Refused == "" && s.Version == "1.5.0" })
}

// TestThePolicyOfPodsIsTheLatest that the controller reported: it connects again when it has changed.
func TestThePolicyOfPodsIsTheLatest(t *testing.T) {
	t.Parallel()
	a := startReplica(t, pgtest.Schemas(t, store.Schema()), "")
	var policy atomic.Value
	policy.Store(`{"policy":{}}`)
	controller(t, a.client, "east", "", &pod{}, func(d *outgoing.Deps) {
		d.Hello = func(_ context.Context, hello *clustersv1.ConnectRequest) error {
			hello.PodPolicy = policy.Load().(string)
			return nil
		}
	})
	awaitState(t, a, "east", func(s states.State) bool { return connected(s) && s.PodPolicy == `{"policy":{}}` })
	policy.Store(`{"policy":{"volumes":["hostPath"]}}`)
	awaitState(t, a, "east", func(s states.State) bool { return s.PodPolicy == `{"policy":{"volumes":["hostPath"]}}` })
	policy.Store("") // the controller of a version before
	awaitState(t, a, "east", func(s states.State) bool { return s.PodPolicy == "" })

	refused, err := clustersv1connect.NewClusterLinkServiceClient(a.client, rpc.InProcessURL).
		Connect(t.Context(), &clustersv1.ConnectRequest{Cluster: "west", Instance: "i", PodPolicy: "no policy"})
	require.NoError(t, err)
	require.False(t, refused.Receive())
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(refused.Err()))
	require.ErrorContains(t, refused.Err(), "pod_policy: no policy is no policy")
}

// TestWhatOperatorsWantReachesTheController, and what its nodes have reaches the API with a beat.
func TestWhatOperatorsWantReachesTheController(t *testing.T) {
	t.Parallel()
	pool := pgtest.Schemas(t, store.Schema())
	a := startReplica(t, pool, "")
	var cpu atomic.Int64
	cpu.Store(4000)
	east := controller(t, a.client, "east", "", &pod{}, func(d *outgoing.Deps) {
		d.Nodes = func(context.Context) (*clustersv1.NodeSummary, error) {
			return &clustersv1.NodeSummary{Known: true, Free: map[string]int64{"cpu": cpu.Load()}}, nil
		}
	})
	awaitState(t, a, "east", func(s states.State) bool { return connected(s) && s.Free["cpu"] == 4000 && s.Labels["zone"] == "a" })
	require.Eventually(t, func() bool { return east.Wanted() == clustersv1.ClusterState_CLUSTER_STATE_READY }, wait, tick)
	_, err := pool.Exec(t.Context(), `WITH changed AS (UPDATE clusters SET state = 'draining') SELECT pg_notify('clusters', '')`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return east.Wanted() == clustersv1.ClusterState_CLUSTER_STATE_DRAINING }, wait, tick)
	cpu.Store(1500)
	awaitState(t, a, "east", func(s states.State) bool { return s.Free["cpu"] == 1500 && s.State == states.Draining })
}
