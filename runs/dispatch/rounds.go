package dispatch

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// rounds shares reads of the live actions of runs. A commit of another replica wakes the streams of all shards at once, and each
// wants to know what changed in the same runs; what waits while one round reads is read together in the next. A request is never
// answered by a read that began before it.
type rounds struct {
	reader Reader

	mu        sync.Mutex
	gathering map[part]*round          // GUARDED_BY(mu): rounds that do not read yet
	before    map[part]<-chan struct{} // GUARDED_BY(mu): closed when the round before those has read
}

// part is a selection without its shard.
type part struct {
	runner  schema.Runner
	cluster string
}

type round struct {
	runs    map[int64]struct{}
	done    chan struct{}
	byShard map[int][]schema.Ref // set when done is closed, as err
	err     error
}

func newRounds(reader Reader) *rounds {
	return &rounds{reader: reader, gathering: map[part]*round{}, before: map[part]<-chan struct{}{}}
}

// liveOfRuns is Reader.LiveOfRuns, possibly with more runs than were asked for.
func (r *rounds) liveOfRuns(ctx context.Context, of worklists.Selection, runs map[int64]struct{}) ([]schema.Ref, error) {
	joined := r.join(ctx, part{of.Runner, of.Cluster}, runs)
	select {
	case <-joined.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if joined.err != nil {
		return nil, joined.err
	}
	if of.Shard != ident.AllShards {
		return joined.byShard[of.Shard], nil
	}
	return slices.Concat(slices.Collect(maps.Values(joined.byShard))...), nil
}

func (r *rounds) join(ctx context.Context, p part, runs map[int64]struct{}) *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	joined := r.gathering[p]
	if joined == nil {
		joined = &round{runs: map[int64]struct{}{}, done: make(chan struct{})}
		r.gathering[p] = joined
		go r.read(context.WithoutCancel(ctx), p, r.before[p], joined) // for others too
	}
	maps.Copy(joined.runs, runs)
	return joined
}

// read waits for the round before, reads, and answers all that joined.
func (r *rounds) read(ctx context.Context, p part, before <-chan struct{}, now *round) {
	if before != nil {
		<-before
	}
	r.mu.Lock()
	delete(r.gathering, p)
	r.before[p] = now.done
	r.mu.Unlock()
	defer close(now.done)
	all := worklists.Selection{Runner: p.runner, Cluster: p.cluster, Shard: ident.AllShards}
	refs, err := r.reader.LiveOfRuns(ctx, all, sortedIDs(now.runs))
	if err != nil {
		now.err = err
		return
	}
	now.byShard = map[int][]schema.Ref{}
	shards := map[int64]int{}
	for _, ref := range refs {
		shard, known := shards[ref.RunID]
		if !known {
			shard = ref.Ident().Run.Shard()
			shards[ref.RunID] = shard
		}
		now.byShard[shard] = append(now.byShard[shard], ref)
	}
}
