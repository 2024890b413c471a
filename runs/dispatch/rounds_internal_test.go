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

func (s *shared[Q, A]) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gathering == nil {
		return 0
	}
	return len(s.gathering.asked)
}

func TestStreamsOfAllShardsShareTwoReads(t *testing.T) {
	const limit, tick = 10 * time.Second, time.Millisecond
	reader := &reads{proceed: make(chan error), live: refs(200)}
	streams := newRounds(reader, false)
	of := worklists.Selection{Runner: schema.RunnerExecutor, Cluster: "c"}
	got := make([][]schema.Ref, ident.Shards)
	var all sync.WaitGroup
	begin := func(shard int) {
		all.Go(func() {
			of := of
			of.Shard = shard
			var err error
			got[shard], err = streams.liveOfRuns(t.Context(), of, map[int64]struct{}{int64(shard + 1): {}})
			require.NoError(t, err)
		})
	}
	begin(0)
	require.Eventually(t, func() bool { return reader.count() == 1 }, limit, tick)
	for shard := 1; shard < ident.Shards; shard++ {
		begin(shard)
	}
	require.Eventually(t, func() bool { return streams.runs[schema.RunnerExecutor].waiting() == ident.Shards-1 }, limit, tick,
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
	streams := newRounds(reader, false)
	var all sync.WaitGroup
	begin := func(cluster int) {
		all.Go(func() {
			of := worklists.Selection{Runner: schema.RunnerExecutor, Cluster: strconv.Itoa(cluster), Shard: ident.AllShards}
			found, err := streams.liveOfRuns(t.Context(), of, map[int64]struct{}{int64(cluster + 1): {}})
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
	require.Eventually(t, func() bool { return streams.runs[schema.RunnerExecutor].waiting() == clusters-1 }, time.Minute, time.Millisecond)
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
	streams := newRounds(reader, false)
	of := worklists.Selection{Runner: schema.RunnerExecutor, Shard: ident.AllShards}
	gone, leave := context.WithCancelCause(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := streams.liveOfRuns(gone, of, map[int64]struct{}{1: {}})
		first <- err
	}()
	require.Eventually(t, func() bool { return reader.count() == 1 }, 10*time.Second, time.Millisecond)
	leave(errors.New("left"))
	require.EqualError(t, <-first, "left")

	second := make(chan error, 1)
	go func() {
		_, err := streams.liveOfRuns(t.Context(), of, map[int64]struct{}{2: {}})
		second <- err
	}()
	reader.proceed <- nil
	reader.proceed <- errors.New("no database")
	require.EqualError(t, <-second, "no database")

	go func() { reader.proceed <- nil }()
	found, err := streams.liveOfRuns(t.Context(), of, map[int64]struct{}{3: {}})
	require.NoError(t, err, "a failed round is over")
	require.Len(t, found, 3)
}

// liveReads is a reader of actions whose reads wait for the test.
type liveReads struct {
	Reader
	mu      sync.Mutex
	asked   [][]int64
	proceed chan error
}

func (r *liveReads) LiveByID(_ context.Context, ids []int64, parents, ended bool) (actions []worklists.LiveAction, err error) {
	r.mu.Lock()
	r.asked = append(r.asked, ids)
	r.mu.Unlock()
	for _, id := range ids {
		if id%10 != 0 { // those have ended
			actions = append(actions, worklists.LiveAction{Ref: schema.Ref{ID: id}, Attempt: int32(id), Queue: strconv.FormatBool(parents && !ended)})
		}
	}
	return actions, <-r.proceed
}

// TestStreamsOfAllClustersShareAssignments: a burst of admissions costs few reads, however many clusters get its actions, and each stream gets
// what it would have read alone.
func TestStreamsOfAllClustersShareAssignments(t *testing.T) {
	const clusters = 50
	reader := &liveReads{proceed: make(chan error)}
	streams := newRounds(reader, true)
	count := func() int {
		reader.mu.Lock()
		defer reader.mu.Unlock()
		return len(reader.asked)
	}
	var all sync.WaitGroup
	begin := func(cluster int64) {
		all.Go(func() {
			ids := []int64{cluster * 10, cluster*10 + 1, cluster*10 + 2}
			found, err := streams.liveByID(t.Context(), ids)
			require.NoError(t, err)
			require.Len(t, found, 2)
			for i, action := range found {
				require.Equal(t, worklists.LiveAction{Ref: schema.Ref{ID: ids[i+1]}, Attempt: int32(ids[i+1]), Queue: "true"}, action)
			}
		})
	}
	begin(0)
	require.Eventually(t, func() bool { return count() == 1 }, time.Minute, time.Millisecond)
	for cluster := range int64(clusters - 1) {
		begin(cluster + 1)
	}
	require.Eventually(t, func() bool { return streams.byID.waiting() == clusters-1 }, time.Minute, time.Millisecond)
	reader.proceed <- nil
	reader.proceed <- nil
	all.Wait()
	require.Equal(t, 2, count())
	require.Len(t, reader.asked[1], 3*(clusters-1))
}
