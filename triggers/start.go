package triggers

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	triggerpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
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
	tracked := f.BackfillID != nil || d.policy.concurrency != concurrencyAllow
	version, err := s.version(ctx, d, f)
	if err == nil {
		reason, until, err := s.held(ctx, d, f, version)
		if err != nil {
			return false, s.failed(ctx, f, err)
		}
		if !until.IsZero() {
			s.meters.settled(ctx, "limited")
			return false, s.store.Postpone(ctx, f, until, reason)
		}
		if reason != "" {
			s.meters.settled(ctx, "skipped")
			return true, s.store.Settle(ctx, f, store.Skipped, reason, false)
		}
		failpoint.Here("trigger.before-run")
	}
	if err == nil {
		err = s.create(ctx, d, f, version)
		failpoint.Here("trigger.after-run")
	}
	switch {
	case err == nil:
		// The slots of a backfill are late by intent.
		if f.BackfillID == nil {
			s.meters.late(ctx, s.clock.Now().Sub(f.Slot.Add(d.policy.delay(d.Task.Name+"\x00"+d.Name, f.Slot))))
		}
		s.meters.settled(ctx, "started")
		return true, s.store.Settle(ctx, f, store.Started, "", tracked)
	case ctx.Err() != nil:
		return false, ctx.Err()
	case temporary(err):
		return false, s.failed(ctx, f, err)
	default:
		// It may have been created before, and what it was made of be deleted since.
		if there, lookup := s.exists(ctx, d, f); lookup != nil {
			return false, s.failed(ctx, f, lookup)
		} else if there {
			return true, s.store.Settle(ctx, f, store.Started, "", tracked)
		}
		s.logger.Warn().Err(err).Str("trigger", d.Name).Str("task", d.Task.Name).Time("slot", f.Slot).Msg("run of a slot refused; skipping the slot")
		s.meters.settled(ctx, "failed")
		return true, s.store.Settle(ctx, f, store.Failed, message(err), false)
	}
}

// exists reports whether the run of a slot or a version exists and is the trigger's own.
func (s *starter) exists(ctx context.Context, d *decoded, f *store.Fire) (bool, error) {
	found, err := s.runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: runID(d.Trigger, f)})
	if rpc.IsNotFound(err) {
		return false, nil
	}
	by := found.GetDetails().GetAction().GetMetadata().GetTriggerId().GetName()
	return by.GetName() == d.Name && by.GetTaskName() == d.Task.Name, err
}

// held is why a slot or a version gets no run, or none until a time; empty if it gets one.
func (s *starter) held(ctx context.Context, d *decoded, f *store.Fire, version *artifact.Artifact) (reason string, until time.Time, err error) {
	if reason, err := s.circular(ctx, d, version); reason != "" || err != nil {
		return reason, time.Time{}, err
	}
	// Before an unfinished run is aborted for this one.
	if until, reason, err := s.bound.wait(ctx, d, f); !until.IsZero() || err != nil {
		return reason, until, err
	}
	if f.BackfillID != nil || d.policy.concurrency == concurrencyAllow {
		return "", time.Time{}, nil
	}
	reason, err = s.concurrent(ctx, d, f)
	return reason, time.Time{}, err
}

// create creates the run, or finds that it exists. It belongs to the user who deployed the revision.
func (s *starter) create(ctx context.Context, d *decoded, f *store.Fire, version *artifact.Artifact) error {
	inputs, err := bindings(d.automation.GetArtifact(), f.Cause, version.GetSpec())
	if err != nil {
		return err
	}
	who, err := metadata(d.Trigger)
	if err != nil {
		return err
	}
	run := runOf(d, f)
	if from := sourceOf(version); from != nil && run.GetRunSpec().GetRelation() == nil {
		run.RunSpec.Relation = &common.Relation{RelatedTo: from, RelationType: common.RelationType_RELATION_TYPE_ON_ARTIFACT}
	}
	_, err = s.starts.StartTriggeredRun(ctx, &enginev1.StartTriggeredRunRequest{
		Run: run, Trigger: identifier(d.Trigger, d.Revision), Automation: d.automation, Inputs: inputs,
		KickoffTimeInputArg: d.automation.GetSchedule().GetKickoffTimeInputArg(), CreatedBy: who.GetDeployedBy(),
	})
	return err
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

// runOf is the request that creates the run of a slot.
func runOf(d *decoded, f *store.Fire) *workflow.CreateRunRequest {
	spec := &task.RunSpec{}
	if d.spec.GetRunSpec() != nil {
		spec = proto.CloneOf(d.spec.GetRunSpec())
	}
	spec.RunStartTime = nil // it is the slot
	source := workflow.RunSource_RUN_SOURCE_SCHEDULE_TRIGGER
	if d.automation.GetType() == task.TriggerAutomationSpecType_TYPE_ARTIFACT {
		source = workflow.RunSource_RUN_SOURCE_ARTIFACT_TRIGGER
	}
	request := &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: &common.RunIdentifier{Project: d.Project, Domain: d.Domain, Name: f.RunName}},
		Task: &workflow.CreateRunRequest_TaskId{TaskId: &task.TaskIdentifier{
			Project: d.Project, Domain: d.Domain, Name: d.Task.Name, Version: d.TaskVersion,
		}},
		RunSpec: spec, Source: source, RunStartTime: timestamppb.New(f.Slot),
	}
	switch inputs := d.spec.GetInputWrapper().(type) {
	case *triggerpb.TriggerSpec_Inputs:
		request.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: inputs.Inputs}
	case *triggerpb.TriggerSpec_OffloadedInputData:
		request.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: inputs.OffloadedInputData}
	}
	return request
}

// concurrent applies the concurrency policy: it returns why the slot is skipped, or an empty reason once it may start.
func (s *starter) concurrent(ctx context.Context, d *decoded, f *store.Fire) (string, error) {
	live, err := s.store.Live(ctx, d.ID)
	if err != nil {
		return "", err
	}
	for i := range live {
		other := &live[i]
		if other.Slot.Equal(f.Slot) && other.Cause == f.Cause {
			continue // another scheduler was faster: this one may have been frozen
		}
		unfinished, err := s.unfinished(ctx, d.Trigger, other)
		if err != nil {
			return "", err
		}
		switch {
		case !unfinished:
		case d.policy.concurrency == concurrencySkip || other.Slot.After(f.Slot):
			return fmt.Sprintf("the run %s of the %s is unfinished, and the concurrency policy is %s", other.RunName, cause(other), d.policy.concurrency), nil
		default:
			reason := fmt.Sprintf("replaced by the %s of trigger %s", cause(f), d.Name)
			_, err := s.runs.AbortRun(ctx, &workflow.AbortRunRequest{RunId: runID(d.Trigger, other), Reason: &reason})
			if err != nil && !rpc.IsNotFound(err) {
				return "", err
			}
			if err := s.store.Ended(ctx, other); err != nil {
				return "", err
			}
		}
	}
	return "", nil
}

// unfinished asks whether the run of a slot is unfinished, and remembers when it is not.
func (s *starter) unfinished(ctx context.Context, t *store.Trigger, f *store.Fire) (bool, error) {
	details, err := s.runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: runID(t, f)})
	switch {
	case err == nil:
		if !phase.Terminal(details.GetDetails().GetAction().GetStatus().GetPhase()) {
			return true, nil
		}
	case !rpc.IsNotFound(err):
		return false, err
	}
	return false, s.store.Ended(ctx, f)
}

func runID(t *store.Trigger, f *store.Fire) *common.RunIdentifier {
	return &common.RunIdentifier{Project: t.Project, Domain: t.Domain, Name: f.RunName}
}
