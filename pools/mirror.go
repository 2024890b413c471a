package pools

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/mirror"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/pools/size"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// mirror keeps the actions of pools what the runs service says.
func (k *keeper) mirror(ctx context.Context) error {
	follows := mirror.Mirror{
		Engine: k.deps.Engine, Runner: enginev1.Runner_RUNNER_POOL, Rows: k,
		Stream: stream.Client[enginev1.WatchAssignmentsResponse]{MaxSilence: k.config.MaxSilence, Clock: k.deps.Clock},
	}
	return follows.Work(ctx)
}

// Unreleased implements mirror.Rows.
func (k *keeper) Unreleased(ctx context.Context) ([]int64, error) { return k.store.Unreleased(ctx) }

// Release implements mirror.Rows. Most of the actions are those whose end a session has just recorded; it forgets them itself.
func (k *keeper) Release(ctx context.Context, uids []int64) error {
	var others []int64
	for _, uid := range uids {
		if _, ending := k.ending.Load(uid); ending {
			continue
		}
		k.known.Remove(uid)
		others = append(others, uid)
	}
	if len(others) == 0 {
		return nil
	}
	return k.store.Release(ctx, others...)
}

// Offer implements mirror.Rows. It gives actions to their pools. One that has begun without a row was run by a worker that is gone.
func (k *keeper) Offer(ctx context.Context, assigned []*enginev1.Assignment) error {
	offers := make([]store.Offered, len(assigned))
	for i, a := range assigned {
		row := store.Action{
			UID: a.GetRef().GetUid(), Action: ident.ActionOf(a.GetRef().GetId()), Ancestors: a.GetAncestors(), Priority: a.GetPriority(),
			QueuedAt: a.GetQueuedAt().AsTime(),
		}
		offers[i] = store.Offered{
			Key: size.KeyOf(a.GetCluster(), a), Policy: size.PolicyOf(a.GetTask().GetSpec().GetTaskTemplate()), Begun: a.GetBegun(),
			Action: attemptOf(&row, verdict.CountOf(a)),
		}
		offers[i].Cluster = offers[i].Key.Cluster
		// What was known of one that has moved is no longer true. Otherwise, the oldest are next.
		if k.known.Contains(offers[i].UID) || k.known.Len() < maxKnown {
			k.known.Add(offers[i].UID, a)
		}
	}
	added, err := k.store.Offer(ctx, offers, func(at int) ([]byte, error) {
		template, err := proto.Marshal(assigned[at])
		if err != nil {
			return nil, fmt.Errorf("encode an assignment: %w", err)
		}
		return template, nil
	})
	if err != nil {
		return err
	}
	for i, a := range assigned {
		if added[i] && a.GetBegun() {
			lost := failure.New(failure.WorkerLost, "")
			if _, err := k.end(ctx, &offers[i].Action, lost, time.Time{}, store.Claimant{}); err != nil {
				return err
			}
		}
	}
	return nil
}
