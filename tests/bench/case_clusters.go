package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// apiAlone makes the server an API whose clusters have controllers of their own, with room for everything.
const apiAlone = `
target: api
replicas: {installation: bench}
runs: {admission: {maxLive: 1000000}}
`

// clustersCase measures what a control plane pays for clusters, whose controllers this process plays.
type clustersCase struct {
	clusters  int           // at the end
	held      int           // actions that they run altogether
	rate      int           // assignments a second
	streamFor time.Duration // how long the last stream of them lasts; those before it, a third of that
	callers   int
	quiet     time.Duration
}

// measure looks at an API with no cluster, one, some and all, without work and with a stream of assignments; then all of them run many
// actions.
func (c clustersCase) measure(ctx context.Context, s *stack.Stack, r *figures.Result) error {
	if err := s.Serve(ctx, apiAlone); err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, s.Postgres.DSN())
	if err != nil {
		return err
	}
	defer pool.Close()
	m := &clusterMeasures{clustersCase: c, stack: s, result: r, pool: pool, controllers: stack.NewControllers(s)}
	defer func() { m.controllers.Close() }()
	if err := m.idle(ctx, "no cluster", c.quiet); err != nil {
		return err
	}
	counts := slices.Compact([]int{1, max(1, c.clusters/5), c.clusters})
	for _, n := range counts {
		if err := m.controllers.Connect(ctx, n); err != nil {
			return err
		}
		if err := m.idle(ctx, fmt.Sprintf("%d clusters", n), c.quiet); err != nil {
			return err
		}
		if err := m.busy(ctx, fmt.Sprintf("%d clusters", n), n, c.streamFor/3); err != nil {
			return err
		}
	}
	m.perCluster(counts)
	return m.loaded(ctx)
}

// clusterMeasures is a clustersCase at work.
type clusterMeasures struct {
	clustersCase
	stack       *stack.Stack
	result      *figures.Result
	pool        *pgxpool.Pool
	controllers *stack.Controllers
	streams     int
	looks       map[string]look
}

// look is what the control plane uses.
type look struct {
	memory, heap     float64 // MiB
	server, postgres float64 // cores
	statements, rows float64 // each second: transactions of Postgres, and rows of actions that it read
}

// loaded is the look at all clusters while they run many actions.
func (m *clusterMeasures) loaded(ctx context.Context) error {
	m.controllers.Close()
	began := time.Now()
	stack.StopProcess(m.stack.Server)
	if err := m.hold(ctx); err != nil {
		return err
	}
	m.result.Add("set up of the actions", time.Since(began).Seconds(), "s")
	if err := m.stack.Serve(ctx, apiAlone); err != nil {
		return err
	}
	began = time.Now()
	if err := m.controllers.Connect(ctx, m.clusters); err != nil {
		return err
	}
	m.result.Add("all clusters have their snapshots after", time.Since(began).Seconds(), "s")
	if _, _, held := m.controllers.Count(); held < m.held {
		return fmt.Errorf("the snapshots have %d actions, want %d", held, m.held)
	}
	label := fmt.Sprintf("%d clusters that run %d actions", m.clusters, m.held)
	if err := m.idle(ctx, label, 3*m.quiet); err != nil { // streams compare with the database every 30 s
		return err
	}
	before, now := m.looks[fmt.Sprintf("%d clusters", m.clusters)], m.looks[label]
	m.result.Add("heap for each action that runs", (now.heap-before.heap)*1024/float64(m.held), "KiB")
	return m.busy(ctx, label, m.clusters, m.streamFor)
}

// hold stores the actions, spread over the clusters.
func (m *clusterMeasures) hold(ctx context.Context) error {
	c := storetest.DefaultConfig()
	c.Project, c.Domain, c.Runs, c.Wide, c.LiveWide = stack.Project, "production", 0, m.held-1, true
	if err := storetest.Fill(ctx, m.pool, c); err != nil {
		return err
	}
	return storetest.Exec(ctx, m.pool, fmt.Sprintf(`UPDATE actions SET cluster = 'c' || lpad((id %% %d)::text, 3, '0')
		WHERE domain = 'production' AND run_name = 'wide'`, m.clusters), `VACUUM ANALYZE actions`)
}

// idle records what the control plane uses while nothing happens.
func (m *clusterMeasures) idle(ctx context.Context, label string, watched time.Duration) error {
	if err := stack.Pause(ctx, min(settleTime, m.quiet)); err != nil {
		return err
	}
	found, err := m.while(ctx, func() error { return stack.Pause(ctx, watched) })
	if err != nil {
		return err
	}
	m.add(label+", idle: ", found)
	if m.looks == nil {
		m.looks = map[string]look{}
	}
	m.looks[label] = found
	return nil
}

func (m *clusterMeasures) add(label string, l look) {
	m.result.Add(label+"memory of the process", l.memory, "MiB")
	m.result.Add(label+"heap and stacks after a collection", l.heap, "MiB")
	m.result.Add(label+"CPU of the server", l.server*1000, "millicores")
	m.result.Add(label+"CPU of Postgres", l.postgres*1000, "millicores")
	m.result.Add(label+"transactions of Postgres", l.statements, "/s")
	m.result.Add(label+"rows of actions read", l.rows, "/s")
}

// while looks at the control plane while something happens.
func (m *clusterMeasures) while(ctx context.Context, do func() error) (look, error) {
	var found look
	usage, err := m.stack.Usage()
	if err != nil {
		return found, err
	}
	before, err := m.counted(ctx)
	if err != nil {
		return found, err
	}
	if err := do(); err != nil {
		return found, err
	}
	after, err := m.counted(ctx)
	if err != nil {
		return found, err
	}
	used, err := m.stack.Usage()
	if err != nil {
		return found, err
	}
	spent := used.Since(usage)
	seconds := spent.Elapsed.Seconds()
	found.server, found.postgres = spent.CPU[stack.ServerName].Seconds()/seconds, spent.CPU[stack.PostgresName].Seconds()/seconds
	found.statements, found.rows = float64(after[0]-before[0])/seconds, float64(after[1]-before[1])/seconds
	if found.memory, _, err = figures.MemoryOf(m.stack.Server.Pid()); err != nil {
		return found, err
	}
	found.heap, err = m.stack.Heap(ctx)
	return found, err
}

// counted are the transactions of Postgres, and the rows of actions that it has read.
func (m *clusterMeasures) counted(ctx context.Context) (found [2]int64, err error) {
	err = m.pool.QueryRow(ctx, `SELECT xact_commit + xact_rollback,
			(SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relid = 'actions'::regclass)
		FROM pg_stat_database WHERE datname = current_database()`).Scan(&found[0], &found[1])
	return found, err
}

// perCluster records what one more cluster costs while nothing happens.
func (m *clusterMeasures) perCluster(counts []int) {
	none, all := m.looks["no cluster"], m.looks[fmt.Sprintf("%d clusters", m.clusters)]
	n := float64(m.clusters)
	m.result.Add("each cluster, idle: heap and stacks", (all.heap-none.heap)*1024/n, "KiB")
	m.result.Add("each cluster, idle: CPU of the server", (all.server-none.server)*1000/n, "millicores")
	m.result.Add("each cluster, idle: CPU of Postgres", (all.postgres-none.postgres)*1000/n, "millicores")
	m.result.Add("each cluster, idle: transactions of Postgres", (all.statements-none.statements)/n, "/s")
	if first, last := m.looks[fmt.Sprintf("%d clusters, busy", counts[0])], m.looks[fmt.Sprintf("%d clusters, busy", m.clusters)]; first.server > 0 && first.postgres > 0 {
		m.result.Add(fmt.Sprintf("CPU of the server for an assignment, %d clusters against %d", m.clusters, counts[0]), last.server/first.server, "times")
		m.result.Add(fmt.Sprintf("CPU of Postgres for an assignment, %d clusters against %d", m.clusters, counts[0]), last.postgres/first.postgres, "times")
	}
}

// busy streams assignments: children of two runs for each cluster, which placement has spread.
func (m *clusterMeasures) busy(ctx context.Context, label string, n int, length time.Duration) error {
	m.streams++
	parents, err := m.parents(ctx, 2*n)
	if err != nil {
		return err
	}
	if _, err := m.controllers.Seen(); err != nil {
		return err
	}
	var enqueued int
	var seen map[int64]time.Time
	var took time.Duration
	found, err := m.while(ctx, func() error {
		began := time.Now()
		if enqueued, err = m.stream(ctx, parents, length); err != nil {
			return err
		}
		seen, err = m.awaitSeen(ctx, enqueued)
		took = time.Since(began)
		return err
	})
	if err != nil {
		return err
	}
	label += ", busy: "
	m.result.Add(label+"assignments", float64(len(seen))/took.Seconds(), "/s")
	waits, err := m.waits(ctx, seen)
	if err != nil {
		return err
	}
	m.result.Latency(label+"admission to assignment", waits)
	m.add(label, found)
	each := float64(len(seen)) / took.Seconds()
	m.result.Add(label+"CPU of the server for each", found.server*1000/each, "ms")
	m.result.Add(label+"CPU of Postgres for each", found.postgres*1000/each, "ms")
	m.result.Add(label+"transactions for each", found.statements/each, "")
	m.result.Add(label+"rows of actions read for each", found.rows/each, "")
	m.looks[label[:len(label)-2]] = look{server: found.server / each, postgres: found.postgres / each}
	return nil
}

// parents creates runs and waits until their roots run.
func (m *clusterMeasures) parents(ctx context.Context, n int) ([]ident.Action, error) {
	_, before, _ := m.controllers.Count()
	var parents []ident.Action
	for range n {
		parents = append(parents, m.stack.NewRun("parent").Root())
	}
	if _, err := stack.Each(n, m.callers, func(i int) ident.Run { return parents[i].Run }, func(run ident.Run) error { return m.stack.CreateRun(ctx, run) }); err != nil {
		return nil, fmt.Errorf("create runs: %w", err)
	}
	for {
		if _, roots, _ := m.controllers.Count(); roots >= before+n {
			return parents, nil
		}
		if err := stack.Pause(ctx, 20*time.Millisecond); err != nil {
			_, failure := m.controllers.Seen()
			return nil, errors.Join(fmt.Errorf("roots do not run: %w", err), failure)
		}
	}
}

// stream enqueues children at the rate, or as fast as it can, and returns how many.
func (m *clusterMeasures) stream(ctx context.Context, parents []ident.Action, length time.Duration) (int, error) {
	var next, failed atomic.Int64
	var failure error
	var once sync.Once
	var callers sync.WaitGroup
	began := time.Now()
	for range m.callers {
		callers.Go(func() {
			for failed.Load() == 0 {
				i := next.Add(1) - 1
				due := time.Duration(i) * time.Second / time.Duration(m.rate)
				if due >= length || time.Since(began) >= length || stack.Pause(ctx, due-time.Since(began)) != nil {
					next.Add(-1)
					return
				}
				if err := m.stack.Enqueue(ctx, parents[int(i)%len(parents)], fmt.Sprintf("s%d-%d", m.streams, i), stack.WithPod); err != nil {
					failed.Store(1)
					once.Do(func() { failure = fmt.Errorf("enqueue: %w", err) })
				}
			}
		})
	}
	callers.Wait()
	return int(next.Load()), failure
}

// awaitSeen waits until controllers have n children.
func (m *clusterMeasures) awaitSeen(ctx context.Context, n int) (map[int64]time.Time, error) {
	for {
		if children, _, _ := m.controllers.Count(); children >= n {
			return m.controllers.Seen()
		}
		if err := stack.Pause(ctx, 10*time.Millisecond); err != nil {
			seen, failure := m.controllers.Seen()
			return nil, errors.Join(fmt.Errorf("%d of %d children were assigned: %w", len(seen), n, err), failure)
		}
	}
}

// waits are the times from the admission of children until a controller had them.
func (m *clusterMeasures) waits(ctx context.Context, seen map[int64]time.Time) ([]time.Duration, error) {
	ids := make([]int64, 0, len(seen))
	for id := range seen {
		ids = append(ids, id)
	}
	rows, err := m.pool.Query(ctx, `SELECT id, admitted_at FROM actions WHERE id = ANY($1)`, ids)
	if err != nil {
		return nil, err
	}
	var id int64
	var at time.Time
	waits := make([]time.Duration, 0, len(seen))
	_, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error {
		waits = append(waits, max(0, seen[id].Sub(at)))
		return nil
	})
	return waits, err
}
