package runs_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	cacheservice "github.com/flyte-binary/flyte-binary/cache_service"
	cachestore "github.com/flyte-binary/flyte-binary/cache_service/store"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/cacheserviceconnect"
	cachev2connect "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2/v2connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// cacheFixture is the running service with a cache that may be unavailable.
type cacheFixture struct {
	*writeFixture
	tenants bool
	config  runs.Config
	scoped  cachev2connect.CacheServiceClient
	away    atomic.Bool
	halt    func()
	more    func(*cacheFixture, *runs.Deps) // may be nil
}

// cacheConfig is a configuration in which the loops of the cache are quick.
func cacheConfig() runs.Config {
	config := runs.DefaultConfig()
	config.Cache.Poll, config.Cache.ReservationPoll, config.Cache.Lease = 100*time.Millisecond, 50*time.Millisecond, 3*time.Second
	return config
}

func newCacheFixture(t testing.TB, change func(*runs.Config)) *cacheFixture {
	t.Helper()
	config := cacheConfig()
	if change != nil {
		change(&config)
	}
	return startCacheFixture(t, config, false)
}

// startCacheFixture starts an installation with a configuration; tenants says that people sign in there.
func startCacheFixture(t testing.TB, config runs.Config, tenants bool) *cacheFixture {
	t.Helper()
	return startCacheFixtureWith(t, config, tenants, nil)
}

func startCacheFixtureWith(t testing.TB, config runs.Config, tenants bool, more func(*cacheFixture, *runs.Deps)) *cacheFixture {
	t.Helper()
	c := &cacheFixture{config: config, tenants: tenants, more: more, writeFixture: &writeFixture{t: t, pool: pgtest.Schemas(t, store.Schema(), cachestore.Schema())}}
	blobs := blobstore.DefaultConfig()
	blobs.URL, blobs.PublicURL, blobs.Sync = t.TempDir(), "http://localhost", false
	var err error
	c.blobs, err = blobstore.Open(t.Context(), blobs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.blobs.Close()) })
	c.start(c.pool)
	t.Cleanup(func() { c.halt() })
	return c
}

// start starts a new process on the stored state.
func (c *cacheFixture) start(pool *pgxpool.Pool) {
	c.t.Helper()
	cacheMux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	cache, err := cacheservice.New(cacheservice.DefaultConfig(), cacheservice.Deps{Pool: pool, Blobs: c.blobs, Logger: zerolog.Nop()})
	require.NoError(c.t, err)
	cache.Mount(cacheMux)
	cacheClient := rpc.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.away.Load() {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		cacheMux.ServeHTTP(w, r)
	}))
	c.scoped = cachev2connect.NewCacheServiceClient(cacheClient, rpc.InProcessURL)
	deps := runs.Deps{
		Pool: pool, Tenants: c.tenants, Blobs: c.blobs, Logger: zerolog.Nop(),
		Peers: runs.Peers{Cache: c.scoped, GlobalCache: cacheserviceconnect.NewCacheServiceClient(cacheClient, rpc.InProcessURL)},
	}
	if c.more != nil {
		c.more(c, &deps)
	}
	c.service, err = runs.New(c.config, deps)
	require.NoError(c.t, err)
	require.NoError(c.t, c.service.Start(c.t.Context()))
	service := c.service
	c.halt = func() { require.NoError(c.t, service.Stop(context.WithoutCancel(c.t.Context()))) }
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	c.service.Mount(mux)
	client := rpc.InProcess(mux)
	c.runs = workflowconnect.NewRunServiceClient(client, rpc.InProcessURL)
	c.internal = workflowconnect.NewInternalRunServiceClient(client, rpc.InProcessURL)
	c.engine = enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL)
}

// restart starts a new process after a crash: holds, reservations and leases are as they were.
func (c *cacheFixture) restart(meanwhile func()) {
	c.t.Helper()
	c.halt()
	meanwhile()
	c.start(c.pool)
}

type wish func(*core.TaskMetadata)

func serialized(m *core.TaskMetadata) { m.CacheSerializable = true }

// cacheable records a child with a cache key.
func (c *cacheFixture) cacheable(run, name, key string, wishes ...wish) {
	c.t.Helper()
	request := childTask(run, "a0", name)
	request.GetTask().CacheKey = wrapperspb.String(key)
	template := request.GetTask().GetSpec().GetTaskTemplate()
	template.Interface = &core.TypedInterface{Outputs: &core.VariableMap{Variables: []*core.VariableEntry{{Key: "o0", Value: &core.Variable{}}}}}
	template.Metadata = &core.TaskMetadata{Discoverable: true, DiscoveryVersion: "1"}
	for _, w := range wishes {
		w(template.GetMetadata())
	}
	require.Zero(c.t, c.record(request))
}

func (c *cacheFixture) run(name string, spec *task.RunSpec) {
	c.t.Helper()
	request := namedRun(name)
	request.RunSpec = spec
	c.create(request)
}

// cacheState is what the cache columns of a row say.
type cacheState struct {
	Status   core.CatalogCacheStatus
	Reason   string
	Hold     int16
	Admitted bool
	Phase    common.ActionPhase
	Output   string
}

func (c *cacheFixture) state(run, name string) (s cacheState) {
	c.t.Helper()
	require.NoError(c.t, c.pool.QueryRow(c.t.Context(),
		`SELECT cache_status, cache_reason, hold, admitted_at IS NOT NULL, phase, output_uri FROM actions WHERE run_name = $1 AND name = $2`, run, name).
		Scan(&s.Status, &s.Reason, &s.Hold, &s.Admitted, &s.Phase, &s.Output))
	return s
}

func (c *cacheFixture) eventually(what string, condition func() bool) {
	c.t.Helper()
	require.Eventually(c.t, condition, 20*time.Second, 5*time.Millisecond, what)
}

// admitted waits until an action may run, and returns what the cache said.
func (c *cacheFixture) admitted(run, name string) cacheState {
	c.t.Helper()
	c.eventually(name+" is admitted", func() bool { return c.state(run, name).Admitted })
	return c.state(run, name)
}

// hit waits until an action has its outputs from the cache.
func (c *cacheFixture) hit(run, name string) cacheState {
	c.t.Helper()
	c.await(run, name, phaseSucceeded)
	s := c.state(run, name)
	require.Equal(c.t, core.CatalogCacheStatus_CACHE_HIT, s.Status, s.Reason)
	require.False(c.t, s.Admitted, "it never runs")
	return s
}

// attemptDir is where the first attempt of an action writes.
func (c *cacheFixture) attemptDir(run, name string) string {
	return c.storage(run, name).GetRunOutputBase() + name + "/1"
}

// finish writes the outputs of an attempt and reports its success.
func (c *cacheFixture) finish(run, name string) {
	c.t.Helper()
	require.NoError(c.t, c.blobs.WriteAll(c.t.Context(), c.attemptDir(run, name)+"/outputs.pb", []byte(name)))
	c.report(transition(run, name, 1, phaseRunning), c.success(run, name))
}

func (c *cacheFixture) execute(query string, args ...any) {
	c.t.Helper()
	_, err := c.pool.Exec(c.t.Context(), query, args...)
	require.NoError(c.t, err)
}

func (c *cacheFixture) count(query string, args ...any) (n int) {
	c.t.Helper()
	require.NoError(c.t, c.pool.QueryRow(c.t.Context(), query, args...).Scan(&n))
	return n
}

func key(text string) *wrapperspb.StringValue { return wrapperspb.String(text) }

// inputs stores the inputs of a child that is about to be recorded.
func (c *cacheFixture) inputs(run string, request *workflow.RecordActionRequest, literals ...*task.NamedLiteral) {
	c.t.Helper()
	request.InputUri = c.blobs.Root() + "/flytesnacks/development/in/" + run + "/" + request.GetActionId().GetName() + "/inputs.pb"
	body, err := proto.Marshal(&task.Inputs{Literals: literals})
	require.NoError(c.t, err)
	require.NoError(c.t, c.blobs.WriteAll(c.t.Context(), request.GetInputUri(), body))
}
