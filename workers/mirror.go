package workers

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/workers/pool"
	"github.com/flyte-binary/flyte-binary/workers/store"
)

// mirror keeps the actions of pools what the runs service says: one row for each that is admitted and has not ended. The
// stream ends from time to time; then it is started again, with a snapshot.
func (k *keeper) mirror(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := k.follow(ctx); err != nil {
			return err
		}
	}
	return nil
}

// follow follows one stream to its end.
func (k *keeper) follow(ctx context.Context) error {
	stream, err := k.deps.Engine.WatchAssignments(ctx, &enginev1.WatchAssignmentsRequest{Pools: true})
	if err != nil {
		return fmt.Errorf("watch assignments: %w", err)
	}
	defer func() { _ = stream.Close() }()
	live, snapshot := map[int64]bool{}, true
	for stream.Receive() {
		switch m := stream.Msg().GetMessage().(type) {
		case *enginev1.WatchAssignmentsResponse_Live:
			for _, ref := range m.Live.GetRefs() {
				live[ref.GetUid()] = true
			}
		case *enginev1.WatchAssignmentsResponse_Sentinel:
			if snapshot {
				snapshot = false
				err = k.compare(ctx, live)
			}
		case *enginev1.WatchAssignmentsResponse_Assignment:
			err = k.offer(ctx, m.Assignment)
		case *enginev1.WatchAssignmentsResponse_Release:
			err = k.store.Release(ctx, m.Release.GetRef().GetUid())
			k.known.Remove(m.Release.GetRef().GetUid())
		}
		if err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("watch assignments: %w", err)
	}
	return nil
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
	if len(gone) > 0 {
		if err := k.store.Release(ctx, gone...); err != nil {
			return err
		}
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
		for _, a := range answer.GetAssignments() {
			if err := k.offer(ctx, a); err != nil {
				return err
			}
		}
		missing = missing[n:]
	}
	return nil
}

// offer gives an action to its pool. One that has begun without a row of ours was run by somebody who is gone.
func (k *keeper) offer(ctx context.Context, a *enginev1.Assignment) error {
	template, err := proto.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode an assignment: %w", err)
	}
	action := store.Action{
		UID: a.GetRef().GetUid(), Action: ident.ActionOf(a.GetRef().GetId()), Ancestors: a.GetAncestors(), Priority: a.GetPriority(),
		QueuedAt: a.GetQueuedAt().AsTime(), Attempt: max(1, int32(a.GetAttempt())), //nolint:gosec // attempts are small
		UserFailures: int32(a.GetUserFailures()), SystemFailures: int32(a.GetSystemFailures()), //nolint:gosec // as few as attempts
	}
	added, err := k.store.Offer(ctx, store.Offered{
		Action: action, Key: pool.KeyOf(a.GetCluster(), a), Policy: pool.PolicyOf(a.GetTask().GetSpec().GetTaskTemplate()), Template: template,
	})
	if err != nil {
		return err
	}
	k.known.Add(action.UID, a)
	if added && a.GetBegun() {
		return k.end(ctx, &action, failure.New(failure.WorkerLost, ""), time.Time{})
	}
	return nil
}
