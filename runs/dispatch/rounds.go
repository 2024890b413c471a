package dispatch

import (
	"context"
	"maps"
	"sync"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// rounds shares reads of the live actions of runs. A commit of another replica wakes the streams of all clusters and shards at once, and
// each wants to know what changed in the same runs; what waits while one round reads is read together in the next. A request is never
// answered by a read that began before it.
type rounds struct {
	reader Reader

	mu        sync.Mutex
	gathering map[schema.Runner]*round          // GUARDED_BY(mu): rounds that do not read yet
	before    map[schema.Runner]<-chan struct{} // GUARDED_BY(mu): closed when the round before those has read
}

type round struct {
	runs     map[int64]struct{}
	clusters map[string]struct{} // that asked; empty for all
	done     chan struct{}
	live     map[part][]schema.Ref // set when done is closed, as err
	err      error
}

// part is a selection without its runner.
type part struct {
	cluster string
	shard   int
}

func newRounds(reader Reader) *rounds {
	return &rounds{reader: reader, gathering: map[schema.Runner]*round{}, before: map[schema.Runner]<-chan struct{}{}}
}

// liveOfRuns is Reader.LiveOfRuns, possibly with more runs than were asked for.
func (r *rounds) liveOfRuns(ctx context.Context, of worklists.Selection, runs map[int64]struct{}) ([]schema.Ref, error) {
	joined := r.join(ctx, of, runs)
	select {
	case <-joined.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if joined.err != nil {
		return nil, joined.err
	}
	var found []schema.Ref
	for at, refs := range joined.live {
		if (of.Cluster == "" || of.Cluster == at.cluster) && (of.Shard == ident.AllShards || of.Shard == at.shard) {
			found = append(found, refs...)
		}
	}
	return found, nil
}

func (r *rounds) join(ctx context.Context, of worklists.Selection, runs map[int64]struct{}) *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	joined := r.gathering[of.Runner]
	if joined == nil {
		joined = &round{runs: map[int64]struct{}{}, clusters: map[string]struct{}{}, done: make(chan struct{})}
		r.gathering[of.Runner] = joined
		go r.read(context.WithoutCancel(ctx), of.Runner, r.before[of.Runner], joined) // for others too
	}
	maps.Copy(joined.runs, runs)
	joined.clusters[of.Cluster] = struct{}{}
	return joined
}

// read waits for the round before, reads, and answers all that joined.
func (r *rounds) read(ctx context.Context, runner schema.Runner, before <-chan struct{}, now *round) {
	if before != nil {
		<-before
	}
	r.mu.Lock()
	delete(r.gathering, runner)
	r.before[runner] = now.done
	r.mu.Unlock()
	defer close(now.done)
	of := worklists.Selection{Runner: runner, Shard: ident.AllShards}
	if len(now.clusters) == 1 {
		for cluster := range now.clusters {
			of.Cluster = cluster
		}
	}
	refs, err := r.reader.LiveOfRuns(ctx, of, sortedIDs(now.runs))
	if err != nil {
		now.err = err
		return
	}
	now.live = map[part][]schema.Ref{}
	shards := map[int64]int{}
	for _, ref := range refs {
		shard, known := shards[ref.RunID]
		if !known {
			shard = ref.Ident().Run.Shard()
			shards[ref.RunID] = shard
		}
		at := part{ref.Cluster, shard}
		now.live[at] = append(now.live[at], ref)
	}
}
