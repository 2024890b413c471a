package pools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/pools/size"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// mirror keeps the actions of pools what the runs service says: one row for each that is admitted and has not ended. The
// stream ends from time to time; then it is started again, with a snapshot.
func (k *keeper) mirror(ctx context.Context) error {
	assignments := stream.Client[enginev1.WatchAssignmentsResponse]{
		Open: func(ctx context.Context) (*connect.ServerStreamForClient[enginev1.WatchAssignmentsResponse], error) {
			return k.deps.Engine.WatchAssignments(ctx, &enginev1.WatchAssignmentsRequest{Runner: enginev1.Runner_RUNNER_POOL})
		},
		MaxSilence: k.config.MaxSilence, ReadAhead: assignmentsPerRead - 1, Clock: k.deps.Clock,
	}
	for ctx.Err() == nil {
		if _, err := assignments.Once(ctx, k.follow); err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch assignments: %w", err)
		}
	}
	return nil
}

// follow follows one stream to its end. What comes while one change is written is written together.
func (k *keeper) follow(ctx context.Context, assignments *stream.Stream[enginev1.WatchAssignmentsResponse]) error {
	// live are the actions of the snapshot, until the first sentinel
	live, gathering := map[int64]bool{}, true
	for batch := range assignments.Batches() {
		var err error
		var offers []*enginev1.Assignment
		var releases []int64
		for _, message := range batch {
			switch m := message.GetMessage().(type) {
			case *enginev1.WatchAssignmentsResponse_Live:
				for _, ref := range m.Live.GetRefs() {
					live[ref.GetUid()] = true
				}
			case *enginev1.WatchAssignmentsResponse_Sentinel:
				if gathering {
					gathering = false
					err = k.compare(ctx, live)
				}
			case *enginev1.WatchAssignmentsResponse_Assignment:
				offers = append(offers, m.Assignment)
			case *enginev1.WatchAssignmentsResponse_Release:
				releases = append(releases, m.Release.GetRef().GetUid())
			}
		}
		if err := errors.Join(err, k.offer(ctx, offers), k.release(ctx, releases)); err != nil {
			return err
		}
	}
	return nil
}

// release forgets actions that have ended: after those that were offered before, with which they may have come. Most of them are
// those whose end a session has just recorded; it forgets them itself.
func (k *keeper) release(ctx context.Context, uids []int64) error {
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

// assignmentsPerRead bounds how many are in memory at once.
const assignmentsPerRead = 100

// compare makes the rows those of a snapshot.
func (k *keeper) compare(ctx context.Context, live map[int64]bool) error {
	stored, err := k.store.Unreleased(ctx)
	if err != nil {
		return err
	}
	var gone, missing []int64
	for _, uid := range stored {
		if !live[uid] {
			gone = append(gone, uid)
		}
		delete(live, uid)
	}
	if err := k.release(ctx, gone); err != nil {
		return err
	}
	for uid := range live {
		missing = append(missing, uid)
	}
	for len(missing) > 0 {
		n := min(len(missing), assignmentsPerRead)
		answer, err := k.deps.Engine.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: missing[:n]})
		if err != nil {
			return fmt.Errorf("read assignments: %w", err)
		}
		if err := k.offer(ctx, answer.GetAssignments()); err != nil {
			return err
		}
		missing = missing[n:]
	}
	return nil
}

// offer gives actions to their pools. One that has begun without a row was run by a worker that is gone.
func (k *keeper) offer(ctx context.Context, assigned []*enginev1.Assignment) error {
	if len(assigned) == 0 {
		return nil
	}
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
		if k.known.Len() < maxKnown { // the oldest are next
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
