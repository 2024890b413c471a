// Package mirror keeps the rows of a runner what the runs service says: one for each action that is admitted for the runner and has not
// ended. Runners that have no objects on a cluster use it. It builds on internal/wire/stream.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// Engine says which actions a runner should run; enginev1connect.EngineServiceClient does.
type Engine interface {
	WatchAssignments(ctx context.Context, r *enginev1.WatchAssignmentsRequest) (*connect.ServerStreamForClient[enginev1.WatchAssignmentsResponse], error)
	GetAssignments(ctx context.Context, r *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error)
}

// Rows are those of the runner.
type Rows interface {
	// Unreleased lists the uids of all actions that were not released.
	Unreleased(ctx context.Context) ([]int64, error)
	// Offer adds actions. Those that are there stay as they are, unless they have moved to another cluster.
	Offer(ctx context.Context, assigned []*enginev1.Assignment) error
	// Release takes actions that have ended.
	Release(ctx context.Context, uids []int64) error
}

// PerRead bounds how many assignments are in memory at once.
const PerRead = 100

// Mirror follows the assignments of a runner. Stream needs MaxSilence and Clock. All fields are required.
type Mirror struct {
	Engine Engine
	Runner enginev1.Runner
	Rows   Rows
	Stream stream.Client[enginev1.WatchAssignmentsResponse]
}

// Work follows until ctx ends. The stream ends from time to time; then it is started again, with a snapshot.
func (m *Mirror) Work(ctx context.Context) error {
	assignments := m.Stream
	assignments.ReadAhead = PerRead - 1
	assignments.Open = func(ctx context.Context) (*connect.ServerStreamForClient[enginev1.WatchAssignmentsResponse], error) {
		return m.Engine.WatchAssignments(ctx, &enginev1.WatchAssignmentsRequest{Runner: m.Runner})
	}
	for ctx.Err() == nil {
		if _, err := assignments.Once(ctx, m.follow); err != nil && ctx.Err() == nil {
			return fmt.Errorf("watch assignments: %w", err)
		}
	}
	return nil
}

// follow follows one stream to its end. What comes while one change is written is written together.
func (m *Mirror) follow(ctx context.Context, assignments *stream.Stream[enginev1.WatchAssignmentsResponse]) error {
	// live are the actions of the snapshot, until the first sentinel, and how often each was taken back from a cluster
	live, gathering := map[int64]uint32{}, true
	for batch := range assignments.Batches() {
		var err error
		var offers []*enginev1.Assignment
		var releases []int64
		for _, message := range batch {
			switch of := message.GetMessage().(type) {
			case *enginev1.WatchAssignmentsResponse_Live:
				for _, ref := range of.Live.GetRefs() {
					live[ref.GetUid()] = ref.GetPlacement()
				}
			case *enginev1.WatchAssignmentsResponse_Sentinel:
				if gathering {
					gathering = false
					err = m.compare(ctx, live)
				}
			case *enginev1.WatchAssignmentsResponse_Assignment:
				if slices.Contains(releases, of.Assignment.GetRef().GetUid()) { // it was taken back from a cluster, and goes to another one
					err = errors.Join(err, m.write(ctx, offers, releases))
					offers, releases = nil, nil
				}
				offers = append(offers, of.Assignment)
			case *enginev1.WatchAssignmentsResponse_Release:
				releases = append(releases, of.Release.GetRef().GetUid())
			}
		}
		if err := errors.Join(err, m.write(ctx, offers, releases)); err != nil {
			return err
		}
	}
	return nil
}

// write writes offers before releases: actions that have ended may have been offered with the same batch.
func (m *Mirror) write(ctx context.Context, offers []*enginev1.Assignment, releases []int64) error {
	return errors.Join(m.offer(ctx, offers), m.release(ctx, releases))
}

func (m *Mirror) offer(ctx context.Context, assigned []*enginev1.Assignment) error {
	if len(assigned) == 0 {
		return nil
	}
	return m.Rows.Offer(ctx, assigned)
}

func (m *Mirror) release(ctx context.Context, uids []int64) error {
	if len(uids) == 0 {
		return nil
	}
	return m.Rows.Release(ctx, uids)
}

// compare makes the rows those of a snapshot. What was taken back from a cluster is offered again also where it has a row, which may be
// that of the attempt there.
func (m *Mirror) compare(ctx context.Context, live map[int64]uint32) error {
	stored, err := m.Rows.Unreleased(ctx)
	if err != nil {
		return err
	}
	var gone, missing []int64
	for _, uid := range stored {
		placement, has := live[uid]
		if !has {
			gone = append(gone, uid)
		}
		if placement == 0 {
			delete(live, uid)
		}
	}
	if err := m.release(ctx, gone); err != nil {
		return err
	}
	for uid := range live {
		missing = append(missing, uid)
	}
	for len(missing) > 0 {
		n := min(len(missing), PerRead)
		answer, err := m.Engine.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: missing[:n]})
		if err != nil {
			return fmt.Errorf("read assignments: %w", err)
		}
		if err := m.offer(ctx, answer.GetAssignments()); err != nil {
			return err
		}
		missing = missing[n:]
	}
	return nil
}
