package triggers

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// pendingBatch is how many slots of a trigger are read at once. More are read until none is left.
const pendingBatch = 100

// starter creates the runs of slots and versions.
type starter struct {
	config    Config
	store     *store.Store
	runs      Runs
	starts    enginev1connect.TriggerRunServiceClient
	artifacts artifactconnect.ArtifactServiceClient
	clock     clock.Clock
	logger    zerolog.Logger
	meters    *meters
	bound     *bound
}

// startAll creates the runs of the pending slots of a trigger, oldest first, until one has to wait.
func (s *starter) startAll(ctx context.Context, id int64) error {
	current, err := s.store.ByID(ctx, id)
	if err != nil || current == nil {
		return err
	}
	revisions := map[int64]*decoded{}
	for {
		fires, err := s.store.PendingFires(ctx, id, pendingBatch)
		if err != nil || len(fires) == 0 {
			return err
		}
		for i := range fires {
			f := &fires[i]
			d := revisions[f.Revision]
			if d == nil {
				if d, err = s.revision(ctx, current, f.Revision); err != nil {
					return err
				}
				revisions[f.Revision] = d
			}
			settled, err := s.start(ctx, d, f)
			if err != nil || !settled {
				return err
			}
		}
	}
}

// revision reads what a trigger was when it picked up a slot.
func (s *starter) revision(ctx context.Context, t *store.Trigger, revision int64) (*decoded, error) {
	row := t
	if t.Revision != revision {
		r, err := s.store.Revision(ctx, t, revision)
		if err != nil {
			return nil, err
		}
		row = &r.Trigger
	}
	return planner{s.config}.decode(row)
}

// start makes one try to create the run of a slot and reports whether the slot is settled. The order matters for a
// crash at any point: the run is created first and the slot settled afterwards. A repeated try finds the run by its
// name, which follows from the slot.
func (s *starter) start(ctx context.Context, d *decoded, f *store.Fire) (bool, error) {
	end, err := s.attempt(ctx, d, f)
	switch {
	case err != nil:
		return false, s.failed(ctx, f, err)
	case !end.until.IsZero():
		s.meters.settled(ctx, "limited")
		return false, s.store.Postpone(ctx, f, end.until, end.reason)
	default:
		s.meters.settled(ctx, results[end.state])
		live := end.state == store.Started && (f.BackfillID != nil || d.policy.concurrency != concurrencyAllow)
		return true, s.store.Settle(ctx, f, end.state, end.reason, live)
	}
}

// outcome is what a try decides: the state that settles the slot, or when to look again.
type outcome struct {
	state  store.State
	until  time.Time
	reason string
}

// results are the outcomes in metrics.
var results = map[store.State]string{store.Started: "started", store.Skipped: "skipped", store.Failed: "failed"}

// attempt creates the run of a slot unless something holds it. After an error the same slot is tried again.
func (s *starter) attempt(ctx context.Context, d *decoded, f *store.Fire) (outcome, error) {
	version, err := s.version(ctx, d, f)
	if err != nil {
		return s.refused(ctx, d, f, err)
	}
	held, err := s.held(ctx, d, f, version)
	if err != nil || held != (outcome{}) {
		return held, err
	}
	failpoint.Here("trigger.before-run")
	err = s.create(ctx, d, f, version)
	failpoint.Here("trigger.after-run")
	if err != nil {
		return s.refused(ctx, d, f, err)
	}
	if f.BackfillID == nil { // the slots of a backfill are late by intent
		s.meters.late(ctx, s.clock.Now().Sub(f.Slot.Add(d.policy.delay(d.Task.Name+"\x00"+d.Name, f.Slot))))
	}
	return outcome{state: store.Started}, nil
}

// refused is the outcome of a try whose run could not be created: an error if another try may succeed.
func (s *starter) refused(ctx context.Context, d *decoded, f *store.Fire, err error) (outcome, error) {
	if ctx.Err() != nil || temporary(err) {
		return outcome{}, err
	}
	// It may have been created before, and what it was made of be deleted since.
	if there, lookup := s.exists(ctx, d, f); lookup != nil {
		return outcome{}, lookup
	} else if there {
		return outcome{state: store.Started}, nil
	}
	s.logger.Warn().Err(err).Str("trigger", d.Name).Str("task", d.Task.Name).Time("slot", f.Slot).Msg("run of a slot refused; skipping the slot")
	return outcome{state: store.Failed, reason: message(err)}, nil
}

// failed has the slot tried again later.
func (s *starter) failed(ctx context.Context, f *store.Fire, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	pause := backoff.After(time.Second, s.config.RetryMax, int(f.Attempts)+1)
	s.logger.Info().Err(err).Time("slot", f.Slot).Dur("pause", pause).Msg("creating the run of a slot failed; retrying")
	s.meters.settled(ctx, "retried")
	return s.store.Postpone(ctx, f, s.clock.Now().Add(pause), message(err))
}

// temporary reports whether the same request may succeed later. An unknown kind counts as temporary: a slot that is
// tried too often is visible, one that is given up too early is lost.
func temporary(err error) bool {
	switch rpc.KindOf(err) {
	case rpc.KindInvalidArgument, rpc.KindNotFound, rpc.KindAlreadyExists, rpc.KindFailedPrecondition, rpc.KindPermissionDenied,
		rpc.KindUnauthenticated, rpc.KindUnimplemented, rpc.KindOutOfRange, rpc.KindDataLoss:
		return false
	default:
		return true
	}
}
