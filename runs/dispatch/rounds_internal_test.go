package dispatch

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// reads is a reader whose reads wait for the test.
type reads struct {
	Reader
	mu      sync.Mutex
	asked   []worklists.Selection
	runs    [][]int64
	proceed chan error
	live    []schema.Ref
}

func (r *reads) LiveOfRuns(_ context.Context, of worklists.Selection, runs []int64) ([]schema.Ref, error) {
	r.mu.Lock()
	r.asked, r.runs = append(r.asked, of), append(r.runs, runs)
	r.mu.Unlock()
	err := <-r.proceed
	return r.live, err
}

func (r *reads) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

func refs(n int) []schema.Ref {
	found := make([]schema.Ref, n)
	for i := range found {
		found[i] = schema.Ref{ID: int64(i + 1), RunID: int64(i + 1), Project: "p", Domain: "d", RunName: "r" + strconv.Itoa(i), Name: "a0", Cluster: "c"}
	}
	return found
}

func (r *rounds) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gathering[schema.RunnerExecutor] == nil {
		return 0
	}
	return len(r.gathering[schema.RunnerExecutor].runs)
}

func TestStreamsOfAllShardsShareTwoReads(t *testing.T) {
	const limit, tick = 10 * time.Second, time.Millisecond
	reader := &reads{proceed: make(chan error), live: refs(200)}
	shared := newRounds(reader)
	of := worklists.Selection{Runner: schema.RunnerExecutor, Cluster: "c"}
	got := make([][]schema.Ref, ident.Shards)
	var all sync.WaitGroup
	begin := func(shard int) {
		all.Go(func() {
			of := of
			of.Shard = shard
			var err error
			got[shard], err = shared.liveOfRuns(t.Context(), of, map[int64]struct{}{int64(shard + 1): {}})
			require.NoError(t, err)
		})
	}
	begin(0)
	require.Eventually(t, func() bool { return reader.count() == 1 }, limit, tick)
	for shard := 1; shard < ident.Shards; shard++ {
		begin(shard)
	}
	require.Eventually(t, func() bool { return shared.waiting() == ident.Shards-1 }, limit, tick,
		"what is asked for during a read is for the next one")
	reader.proceed <- nil
	reader.proceed <- nil
	all.Wait()
	require.Equal(t, 2, reader.count())
	require.Equal(t, []int64{1}, reader.runs[0])
	require.Len(t, reader.runs[1], ident.Shards-1)
	require.Equal(t, worklists.Selection{Runner: schema.RunnerExecutor, Cluster: "c", Shard: ident.AllShards}, reader.asked[1])
	total := 0
	for shard, refs := range got {
		total += len(refs)
		for _, ref := range refs {
			require.Equal(t, shard, ref.Ident().Run.Shard())
		}
	}
	require.Equal(t, 200, total)
}

// TestStreamsOfAllClustersShareTwoReads: one commit of another replica costs two reads at most, however many clusters there are.
func TestStreamsOfAllClustersShareTwoReads(t *testing.T) {
	const clusters = 50
	reader := &reads{proceed: make(chan error), live: refs(200)}
	for i := range reader.live {
		reader.live[i].Cluster = strconv.Itoa(i % clusters)
	}
	shared := newRounds(reader)
	var all sync.WaitGroup
	begin := func(cluster int) {
		all.Go(func() {
			of := worklists.Selection{Runner: schema.RunnerExecutor, Cluster: strconv.Itoa(cluster), Shard: ident.AllShards}
			found, err := shared.liveOfRuns(t.Context(), of, map[int64]struct{}{int64(cluster + 1): {}})
			require.NoError(t, err)
			require.Len(t, found, 200/clusters)
			for _, ref := range found {
				require.Equal(t, of.Cluster, ref.Cluster)
			}
		})
	}
	begin(0)
	require.Eventually(t, func() bool { return reader.count() == 1 }, time.Minute, time.Millisecond)
	for cluster := 1; cluster < clusters; cluster++ {
		begin(cluster)
	}
	require.Eventually(t, func() bool { return shared.waiting() == clusters-1 }, time.Minute, time.Millisecond)
	reader.proceed <- nil
	reader.proceed <- nil
	all.Wait()
	require.Equal(t, []worklists.Selection{
		{Runner: schema.RunnerExecutor, Cluster: "0", Shard: ident.AllShards}, {Runner: schema.RunnerExecutor, Shard: ident.AllShards},
	}, reader.asked, "what several clusters ask for is read for all of them at once")
	require.Len(t, reader.runs[1], clusters-1)
}

func TestARoundIsReadForAllThatStillWait(t *testing.T) {
	reader := &reads{proceed: make(chan error), live: refs(3)}
	shared := newRounds(reader)
	of := worklists.Selection{Runner: schema.RunnerExecutor, Shard: ident.AllShards}
	gone, leave := context.WithCancelCause(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := shared.liveOfRuns(gone, of, map[int64]struct{}{1: {}})
		first <- err
	}()
	require.Eventually(t, func() bool { return reader.count() == 1 }, 10*time.Second, time.Millisecond)
	leave(errors.New("left"))
	require.EqualError(t, <-first, "left")

	second := make(chan error, 1)
	go func() {
		_, err := shared.liveOfRuns(t.Context(), of, map[int64]struct{}{2: {}})
		second <- err
	}()
	reader.proceed <- nil
	reader.proceed <- errors.New("no database")
	require.EqualError(t, <-second, "no database")

	go func() { reader.proceed <- nil }()
	found, err := shared.liveOfRuns(t.Context(), of, map[int64]struct{}{3: {}})
	require.NoError(t, err, "a failed round is over")
	require.Len(t, found, 3)
}
