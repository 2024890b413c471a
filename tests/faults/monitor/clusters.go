package monitor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// Clusters polls the database during a storm, past the server: when each cluster was seen last, and which attempts were taken back.
type Clusters struct {
	stack *stack.Stack
	done  chan struct{}
	stop  context.CancelFunc

	seen   map[string]time.Time // when each cluster was seen last, at the look before; by the clock of the database
	away   map[string]time.Time // when each cluster was found away last
	placed map[int64]int32      // how often an attempt of each action had been taken back, at the look before; nil before the first

	mu    sync.Mutex
	early []string // GUARDED_BY(mu)
}

// WatchClusters begins to look at the clusters.
func WatchClusters(s *stack.Stack) *Clusters {
	ctx, cancel := context.WithCancel(context.Background())
	m := &Clusters{stack: s, done: make(chan struct{}), stop: cancel, away: map[string]time.Time{}}
	go func() {
		defer close(m.done)
		database := s.Reader()
		defer database.Close()
		for len(s.Sides) > 0 && clock.Sleep(ctx, clock.System{}, every) == nil {
			_ = m.look(ctx, database) // the database is down: look again later
		}
	}()
	return m
}

// Close ends the looks.
func (m *Clusters) Close() {
	m.stop()
	<-m.done
}

// silence is how long a cluster says nothing before it counts as away, by docs/clusters.md.
const silence = 10 * time.Second

// batchLimit is how long the server may take for one batch of what ran on a cluster that was away, after which it looks whether the
// cluster is back.
const batchLimit = 5 * time.Second

// LostPrefix begins the errors of attempts that were taken back from clusters that are away; docs/failures.md has the code.
const LostPrefix = "ClusterLost: "

// taken is an action of which an attempt was taken back.
type taken struct {
	ID         int64
	Run, Name  string
	Times      int32
	From       string // the last time
	now        time.Time
	seenBefore time.Time
}

// look reads everything in one statement, and so at one moment.
func (m *Clusters) look(ctx context.Context, database *stack.Reader) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return database.Do(ctx, m.read)
}

func (m *Clusters) read(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `
		SELECT clock_timestamp(), 0::bigint, '', '', 0, cluster, max(seen_at) FROM cluster_states GROUP BY cluster
		UNION ALL SELECT clock_timestamp(), id, run_name, name, placement, avoid_cluster, clock_timestamp() FROM actions WHERE placement > 0`)
	if err != nil {
		return err
	}
	seen, placed := map[string]time.Time{}, map[int64]int32{}
	var fresh []taken
	var one taken
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&one.now, &one.ID, &one.Run, &one.Name, &one.Times, &one.From, &at}, func() error {
		if one.ID == 0 {
			seen[one.From] = at
			if one.now.Sub(at) >= silence {
				m.away[one.From] = one.now
			}
			return nil
		}
		placed[one.ID] = one.Times
		if m.placed != nil && one.Times > m.placed[one.ID] {
			one.seenBefore = m.seen[one.From]
			fresh = append(fresh, one)
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.seen, m.placed = seen, placed
	m.judge(fresh)
	return nil
}

// judge finds attempts that were taken back from clusters that were not away. Each was taken back after the look before, so its cluster
// cannot have been silent for longer than from when it had been seen then until now.
func (m *Clusters) judge(fresh []taken) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range fresh {
		silent := one.now.Sub(one.seenBefore)
		if !one.seenBefore.IsZero() && silent < silence && one.now.Sub(m.away[one.From]) > batchLimit {
			m.early = append(m.early, fmt.Sprintf("%s/%s was taken back from cluster %s, which had been silent for %s at most",
				one.Run, one.Name, one.From, silent.Round(100*time.Millisecond)))
		}
	}
}

// Early lists attempts that were taken back too early.
func (m *Clusters) Early() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.early)
}
