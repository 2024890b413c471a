package dispatch

import (
	"context"
	"maps"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// rounds shares the reads of streams. Each cluster and shard has a stream of its own, and many of them wake at once: a commit of another
// replica has each ask what changed in the same runs, and an admission has each ask for the few actions that it got.
type rounds struct {
	reader Reader
	runs   map[schema.Runner]*shared[runsOf, map[part][]schema.Ref]
	byID   shared[[]int64, map[int64]worklists.LiveAction]
}

// runsOf asks for the live actions of runs.
type runsOf struct {
	cluster string // empty for all
	runs    map[int64]struct{}
}

// part is a selection without its runner.
type part struct {
	cluster string
	shard   int
}

// newRounds returns rounds that read. parents says that actions are read with the attempts of their parents.
func newRounds(reader Reader, parents bool) *rounds {
	r := &rounds{reader: reader, runs: map[schema.Runner]*shared[runsOf, map[part][]schema.Ref]{}}
	for _, runner := range []schema.Runner{schema.RunnerExecutor, schema.RunnerPool, schema.RunnerConnector} {
		r.runs[runner] = &shared[runsOf, map[part][]schema.Ref]{read: func(ctx context.Context, asked []runsOf) (map[part][]schema.Ref, error) {
			return r.readRuns(ctx, runner, asked)
		}}
	}
	r.byID.read = func(ctx context.Context, asked [][]int64) (map[int64]worklists.LiveAction, error) {
		return r.readByID(ctx, parents, asked)
	}
	return r
}

// liveOfRuns is Reader.LiveOfRuns, possibly with more runs than were asked for.
func (r *rounds) liveOfRuns(ctx context.Context, of worklists.Selection, runs map[int64]struct{}) ([]schema.Ref, error) {
	live, err := r.runs[of.Runner].ask(ctx, runsOf{cluster: of.Cluster, runs: runs})
	if err != nil {
		return nil, err
	}
	var found []schema.Ref
	for at, refs := range live {
		if (of.Cluster == "" || of.Cluster == at.cluster) && (of.Shard == ident.AllShards || of.Shard == at.shard) {
			found = append(found, refs...)
		}
	}
	return found, nil
}

func (r *rounds) readRuns(ctx context.Context, runner schema.Runner, asked []runsOf) (map[part][]schema.Ref, error) {
	runs := map[int64]struct{}{}
	of := worklists.Selection{Runner: runner, Cluster: asked[0].cluster, Shard: ident.AllShards}
	for _, one := range asked {
		maps.Copy(runs, one.runs)
		if one.cluster != of.Cluster {
			of.Cluster = "" // what several clusters ask for is read for all of them at once
		}
	}
	refs, err := r.reader.LiveOfRuns(ctx, of, sortedIDs(runs))
	if err != nil {
		return nil, err
	}
	live := map[part][]schema.Ref{}
	shards := map[int64]int{}
	for _, ref := range refs {
		shard, known := shards[ref.RunID]
		if !known {
			shard = ref.Ident().Run.Shard()
			shards[ref.RunID] = shard
		}
		at := part{ref.Cluster, shard}
		live[at] = append(live[at], ref)
	}
	return live, nil
}

// liveByID is Reader.LiveByID for actions that have not ended.
func (r *rounds) liveByID(ctx context.Context, ids []int64) ([]worklists.LiveAction, error) {
	live, err := r.byID.ask(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make([]worklists.LiveAction, 0, len(ids))
	for _, id := range ids {
		if action, ok := live[id]; ok {
			found = append(found, action)
		}
	}
	return found, nil
}

func (r *rounds) readByID(ctx context.Context, parents bool, asked [][]int64) (map[int64]worklists.LiveAction, error) {
	ids := map[int64]struct{}{}
	for _, some := range asked {
		for _, id := range some {
			ids[id] = struct{}{}
		}
	}
	actions, err := r.reader.LiveByID(ctx, sortedIDs(ids), parents, false)
	if err != nil {
		return nil, err
	}
	live := make(map[int64]worklists.LiveAction, len(actions))
	for _, action := range actions {
		live[action.ID] = action
	}
	return live, nil
}
