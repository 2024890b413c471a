package admission_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/admission"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// reports are what clusters said last.
type reports struct {
	clusters []placement.Cluster
	seen     time.Time
}

func (r *reports) Clusters(context.Context) ([]placement.Cluster, map[string]time.Time, error) {
	seen := map[string]time.Time{}
	for _, c := range r.clusters {
		seen[c.Name] = r.seen
	}
	return r.clusters, seen, nil
}

func (f *fixture) asks() *asks.Reader {
	return asks.NewReader(&asks.Rules{}, f.set, worklists.NewPlacementReader(f.pool), worklists.NewLiveReader(f.pool))
}

// placing is a fixture with clusters.
type placing struct {
	*fixture
	*reports
	places *admission.Places
}

func newPlacing(t testing.TB, config placement.Config, configured []queues.Queue, clusters ...placement.Cluster) *placing {
	t.Helper()
	p := &placing{
		fixture: &fixture{t: t, pool: pgtest.New(t, store.Migrations()), book: placement.NewBook(placement.New(config))},
		reports: &reports{clusters: clusters, seen: time.Now()},
	}
	p.queue = worklists.NewQueueReader(p.pool)
	p.configure(1000, 50, configured...)
	p.places = admission.NewPlaces(admission.PlacesDeps{
		Book: p.book, Clusters: p, Held: p.asks(), Writer: p.Writer, Admits: func() bool { return true }, Clock: clock.System{}, Logger: zerolog.Nop(),
	})
	p.report(clusters...)
	return p
}

// report replaces the clusters.
func (p *placing) report(clusters ...placement.Cluster) {
	p.t.Helper()
	p.clusters = clusters
	require.NoError(p.t, p.places.Refresh(p.t.Context()))
}

// settle admits until nothing may start, and lets what waits for a cluster try again.
func (p *placing) settle() {
	p.t.Helper()
	for {
		p.drain()
		n, err := p.places.Release(p.t.Context())
		require.NoError(p.t, err)
		if n == 0 {
			return
		}
	}
}

// spec is a task that asks for cores.
func spec(cores int) (store.NewSpec, *placement.Request) {
	of := &task.TaskSpec{TaskTemplate: &core.TaskTemplate{Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{
		Resources: &core.Resources{Requests: []*core.Resources_ResourceEntry{{Name: core.Resources_CPU, Value: fmt.Sprint(cores)}}},
	}}}}
	body, err := proto.Marshal(of)
	if err != nil {
		panic(err)
	}
	asked := (&asks.Rules{}).Of(of.GetTaskTemplate(), nil)
	asked.Project, asked.Domain = "p", "d"
	return store.NewSpec{Kind: schema.SpecTask, Digest: schema.SpecDigest(schema.SpecTask, body), Body: body}, &asked
}

// ask creates a run whose root asks for cores.
func (p *placing) ask(name, queue string, cores int) {
	p.t.Helper()
	s, asked := spec(cores)
	asked.Project = projectOf(name)
	_, _, err := p.CreateRun(p.t.Context(), store.NewRun{
		Root: schema.Root{
			Action: schema.Action{
				Project: projectOf(name), Domain: "d", RunName: name, TaskName: "t", Queue: queue, SpecDigest: s.Digest, Asks: asked,
			},
			RequestDigest: []byte("digest"), RunOutputBase: "/data/" + name + "/",
		},
		Specs: []store.NewSpec{s},
	})
	require.NoError(p.t, err)
}

func (p *placing) askChild(run, parent, name string, cores int) {
	p.t.Helper()
	s, asked := spec(cores)
	asked.Project = projectOf(run)
	require.NoError(p.t, p.RecordAction(p.t.Context(), store.NewAction{
		Action: schema.Action{
			Project: projectOf(run), Domain: "d", RunName: run, Name: name, ParentName: &parent, ActionType: schema.ActionTask, TaskName: "c",
			SpecDigest: s.Digest, Asks: asked,
		},
		Spec: s,
	}))
}

// at is the cluster of each action, as run/name; "-" for one that waits in the queue, "!" for one that waits for a cluster.
func (p *placing) at() map[string]string {
	p.t.Helper()
	rows, err := p.pool.Query(p.t.Context(), `SELECT run_name || '/' || name, CASE WHEN hold = 3 THEN '!' WHEN admitted_at IS NULL THEN '-' ELSE cluster END
		FROM actions WHERE ended_at IS NULL`)
	require.NoError(p.t, err)
	at := map[string]string{}
	for rows.Next() {
		var name, cluster string
		require.NoError(p.t, rows.Scan(&name, &cluster))
		at[name] = cluster
	}
	require.NoError(p.t, rows.Err())
	return at
}

func (p *placing) value(query string, args ...any) (value string) {
	p.t.Helper()
	require.NoError(p.t, p.pool.QueryRow(p.t.Context(), query, args...).Scan(&value))
	return value
}

func cluster(name string, all, free int64) placement.Cluster {
	return placement.Cluster{
		Name: name, Weight: 1, Capacity: placement.Amounts{placement.CPU: all * 1000}, Free: placement.Amounts{placement.CPU: free * 1000},
	}
}

// TestWhereTheClusterIsDecided: an action is in no cluster until it is admitted, whether by the transaction that records it or by the
// loop; then it is where there is room, and the reason is stored.
func TestWhereTheClusterIsDecided(t *testing.T) {
	for name, gate := range map[string]int64{"recorded": 1000, "loop": 0} {
		t.Run(name, func(t *testing.T) {
			p := newPlacing(t, placement.Config{}, []queues.Queue{{Name: "pinned", Cluster: "west"}}, cluster("east", 8, 8), cluster("west", 8, 2))
			p.Gate().Set(gate, 0)
			p.ask("r1", "", 4)
			p.ask("r2", "pinned", 1)
			if gate == 0 {
				require.Empty(t, p.value(`SELECT cluster FROM actions WHERE run_name = 'r1'`))
				require.Equal(t, "west", p.value(`SELECT cluster FROM actions WHERE run_name = 'r2'`))
				p.settle()
			}
			p.askChild("r1", "a0", "near", 4)
			p.askChild("r1", "a0", "far", 1)
			p.askChild("r1", "a0", "nowhere", 1)
			p.settle()
			require.Equal(t, map[string]string{"r1/a0": "east", "r2/a0": "west", "r1/near": "east", "r1/far": "west", "r1/nowhere": "!"}, p.at())
			why := func(name string) string {
				return p.value(`SELECT reason FROM placements JOIN actions ON id = action_id WHERE run_name || '/' || name = $1`, name)
			}
			require.Equal(t, "1 of 2 clusters could take it", why("r1/a0"))
			require.Equal(t, "queue pinned names it", why("r2/a0"))
			require.Equal(t, "its parent runs there", why("r1/near"))
			require.Equal(t, "1 of 2 clusters could take it", why("r1/far"))
		})
	}
}

// TestWhatWaitsForAClusterHoldsUpNothingElse: smaller actions behind it pass, and it is admitted when a cluster has room.
func TestWhatWaitsForAClusterHoldsUpNothingElse(t *testing.T) {
	p := newPlacing(t, placement.Config{}, nil, cluster("east", 8, 4), cluster("west", 8, 4))
	p.ask("large", "", 6)
	p.ask("small", "", 4)
	p.settle()
	require.Equal(t, map[string]string{"large/a0": "!", "small/a0": "east"}, p.at())
	n, err := p.places.Release(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "it stays where it waits")

	p.report(cluster("east", 8, 4), cluster("west", 8, 6))
	p.settle()
	require.Equal(t, "west", p.at()["large/a0"])
}

func TestAnEndGivesRoom(t *testing.T) {
	p := newPlacing(t, placement.Config{}, nil, cluster("east", 8, 4), cluster("west", 8, 4))
	p.ask("r1", "", 4)
	p.ask("r2", "", 4)
	p.ask("r3", "", 3)
	p.settle()
	require.Equal(t, map[string]string{"r1/a0": "east", "r2/a0": "west", "r3/a0": "!"}, p.at())
	p.end("r2", "a0")
	p.settle()
	require.Equal(t, "west", p.at()["r3/a0"])
}

// TestClosedClustersGetNothing: of two clusters, of one, and again when they open; an aborted action waits no more.
func TestClosedClustersGetNothing(t *testing.T) {
	east, west := cluster("east", 8, 8), cluster("west", 8, 8)
	east.Closed, west.Closed = "is cordoned", "is draining"
	p := newPlacing(t, placement.Config{}, nil, east, west)
	p.ask("r1", "", 1)
	p.ask("r2", "", 1)
	p.settle()
	require.Equal(t, map[string]string{"r1/a0": "!", "r2/a0": "!"}, p.at())
	require.NoError(t, p.Abort(t.Context(), store.Abort{Action: actionID("r2", "a0"), Reason: "no longer wanted"}))
	p.report(east)
	p.ask("r3", "", 1)
	p.settle()
	require.Equal(t, map[string]string{"r1/a0": "!", "r3/a0": "!"}, p.at())
	east.Closed = ""
	p.report(east)
	p.settle()
	require.Equal(t, map[string]string{"r1/a0": "east", "r3/a0": "east"}, p.at())
}

// TestAnActionWaitsForAClusterInItsQueue: it counts against maxDepth, as one that waits for the cache does.
func TestAnActionWaitsForAClusterInItsQueue(t *testing.T) {
	p := newPlacing(t, placement.Config{}, []queues.Queue{{Name: "q", MaxDepth: 2}}, cluster("east", 8, 0), cluster("west", 8, 0))
	p.ask("r1", "q", 1)
	p.settle()
	p.ask("r2", "q", 1)
	require.ErrorContains(t, p.tryRun("r3", "q", nil), "queue q is full")
}

// TestOneClusterCostsNothing: with one cluster, rows are the same as without a book, whatever the capacity of the cluster is, and
// nothing else is stored.
func TestOneClusterCostsNothing(t *testing.T) {
	small := cluster("default", 1, 0)
	for _, gate := range []int64{0, 1000} {
		var rows []string
		for _, clusters := range [][]placement.Cluster{nil, {small}} {
			p := newPlacing(t, placement.Config{}, []queues.Queue{{Name: "pinned", Cluster: "west"}}, clusters...)
			if clusters == nil {
				p.book = nil
				p.configure(1000, 50, queues.Queue{Name: "pinned", Cluster: "west"})
			}
			p.Gate().Set(gate, 0)
			p.ask("r1", "", 4)
			p.ask("r2", "pinned", 4)
			p.settle()
			p.askChild("r1", "a0", "c", 4)
			p.ask("r3", "", 2)
			if gate != 0 {
				p.Gate().Set(0, 0)
				p.ask("r4", "", 2)
			}
			p.drain()
			rows = append(rows, p.value(`SELECT string_agg(concat_ws(' ', run_name, name, cluster, hold, admitted_at IS NOT NULL, phase), E'\n' ORDER BY id) FROM actions`))
			require.Equal(t, "0", p.value(`SELECT count(*)::text FROM placements`))
		}
		require.Equal(t, rows[0], rows[1])
		require.Contains(t, rows[0], "r1 a0 default 0 t")
	}
}

// late are clusters that cannot be read at first.
type late struct {
	known atomic.Pointer[[]placement.Cluster]
}

func (l *late) Clusters(context.Context) ([]placement.Cluster, map[string]time.Time, error) {
	known := l.known.Load()
	if known == nil {
		return nil, nil, errors.New("the database does not answer")
	}
	return *known, nil, nil
}

// TestTheFirstSecond: what a rule sends to a pool waits until the clusters have been read, and until one of the pool has connected. What
// nothing sends anywhere starts at once, unless the default cluster is known not to exist.
func TestTheFirstSecond(t *testing.T) {
	for name, gate := range map[string]int64{"recorded": 1000, "loop": 0} {
		t.Run(name, func(t *testing.T) {
			p := newPlacing(t, placement.Config{Rules: []placement.Rule{{Projects: []string{"ml"}, Pool: "gpu"}}}, nil)
			p.Gate().Set(gate, 0)
			source, changed := &late{}, make(chan struct{})
			places := admission.NewPlaces(admission.PlacesDeps{
				Book: p.book, Clusters: source, Changed: changed, Held: p.asks(), Writer: p.Writer, Admits: func() bool { return true },
				Clock: clock.NewFake(time.Now()), Logger: zerolog.Nop(), // nothing happens each second
			})
			require.NoError(t, places.Start(t.Context()))
			t.Cleanup(func() { require.NoError(t, places.Stop(context.WithoutCancel(t.Context()))) })
			p.ask("ml.r1", "", 1)
			p.ask("r2", "", 1)
			p.drain()
			require.Equal(t, map[string]string{"ml.r1/a0": "!", "r2/a0": "default"}, p.at())

			report := func(clusters ...placement.Cluster) {
				source.known.Store(&clusters)
				changed <- struct{}{}
				changed <- struct{}{} // received when the first has had its effect
				p.drain()
			}
			home, east := cluster("default", 8, 8), cluster("east", 8, 8)
			east.Pools, east.Unseen = []string{"gpu"}, true
			report(east)
			p.ask("r3", "", 1)
			p.drain()
			require.Equal(t, map[string]string{"ml.r1/a0": "!", "r2/a0": "default", "r3/a0": "!"}, p.at(), "no cluster is called default")
			report(home, east)
			require.Equal(t, map[string]string{"ml.r1/a0": "!", "r2/a0": "default", "r3/a0": "default"}, p.at())
			east.Unseen = false
			report(home, east)
			require.Equal(t, "east", p.at()["ml.r1/a0"])
		})
	}
}

// TestGateAndLoopDecideAlike: the same actions, in the same order, get the same clusters from the transaction that records them and
// from the loop.
func TestGateAndLoopDecideAlike(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var results []map[string]string
	for _, gate := range []int64{1000, 0} {
		random := rand.New(rand.NewPCG(seed, 1))
		p := newPlacing(t, placement.Config{Pending: 1}, nil, cluster("a", 9, 7), cluster("b", 20, 3), cluster("c", 6, 6))
		p.Gate().Set(gate, 0)
		for i := range 12 {
			run := fmt.Sprintf("r%02d", i)
			p.ask(run, "", 1+random.IntN(4))
			if gate == 0 {
				p.drain()
			}
			if p.at()[run+"/a0"] != "!" {
				p.askChild(run, "a0", "c", random.IntN(3))
				if gate == 0 {
					p.drain()
				}
			}
		}
		results = append(results, p.at())
	}
	require.Equal(t, results[0], results[1])
	require.NotContains(t, results[0], "-")
}

// TestNoClusterGetsMoreThanItHas: actions come, end and are aborted at random, clusters close and open. What is live in a cluster never
// asks for more than was free, and nothing waits while a cluster has room for it.
func TestNoClusterGetsMoreThanItHas(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	clusters := []placement.Cluster{cluster("a", 10, 10), cluster("b", 10, 10), cluster("c", 10, 10)}
	p := newPlacing(t, placement.Config{}, nil, clusters...)
	asked := map[string]int{}
	for step := range 60 {
		switch at := p.at(); {
		case step%3 != 2 || len(at) == 0:
			run := fmt.Sprintf("r%d", step)
			asked[run+"/a0"] = 1 + random.IntN(6)
			p.Gate().Set(int64(random.IntN(2)*100), 0)
			p.ask(run, "", asked[run+"/a0"])
		default:
			for name, where := range at {
				run := name[:len(name)-3]
				if where == "!" {
					require.NoError(t, p.Abort(t.Context(), store.Abort{Action: actionID(run, "a0"), Reason: "x"}))
				} else {
					p.end(run, "a0")
				}
				break
			}
		}
		closed := random.IntN(4)
		for i := range clusters {
			clusters[i].Closed = ""
			if i == closed {
				clusters[i].Closed = "is away"
			}
		}
		p.report(clusters...)
		p.settle()
		used := map[string]int{}
		for name, where := range p.at() {
			used[where] += asked[name]
		}
		for name, where := range p.at() {
			require.NotEqual(t, "-", where, name)
			for i := range clusters {
				require.LessOrEqual(t, used[clusters[i].Name], 10, "step %d", step)
				if where == "!" && clusters[i].Closed == "" {
					require.Greater(t, used[clusters[i].Name]+asked[name], 10, "%s waits without need in step %d", name, step)
				}
			}
		}
	}
}
