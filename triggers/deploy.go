package triggers

import (
	"bytes"
	"context"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	triggerpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// DeployTrigger implements triggerconnect.TriggerServiceHandler. The same content again makes no new revision. What a user
// has set with UpdateTriggers survives: spec.active counts for triggers that no user has switched.
func (h *handler) DeployTrigger(ctx context.Context, r *triggerpb.DeployTriggerRequest) (*triggerpb.DeployTriggerResponse, error) {
	name := r.GetName()
	d := &deployment{
		task: taskOf(name), name: name.GetName(), revision: r.GetRevision(), spec: r.GetSpec(), automation: r.GetAutomationSpec(), stored: true,
	}
	found, err := h.tasks.GetTaskDetails(ctx, &task.GetTaskDetailsRequest{TaskId: &task.TaskIdentifier{
		Org: name.GetOrg(), Project: name.GetProject(), Domain: name.GetDomain(), Name: name.GetTaskName(), Version: r.GetSpec().GetTaskVersion(),
	}})
	if err != nil {
		return nil, err
	}
	d.taskSpec = found.GetDetails().GetSpec()
	now := h.clock.Now()
	if err := h.check(ctx, d, now); err != nil {
		return nil, err
	}
	var deployed *store.Trigger
	err = h.change(ctx, []store.Task{d.task}, func(triggers []*store.Trigger) ([]store.Change, error) {
		change, err := h.deploy(ctx, byName(triggers, d.task, d.name), d, now)
		if err != nil {
			return nil, err
		}
		deployed = change.Trigger
		if change.Action == 0 {
			return nil, nil
		}
		return []store.Change{change}, nil
	})
	if err != nil {
		return nil, err
	}
	answer, err := details(deployed)
	return &triggerpb.DeployTriggerResponse{Trigger: answer}, err
}

func byName(triggers []*store.Trigger, task store.Task, name string) *store.Trigger {
	for _, t := range triggers {
		if t.Task == task && t.Name == name {
			return t
		}
	}
	return nil
}

// deploy decides the change of a trigger that exists, or creates it. Without an action, nothing changes.
func (h *handler) deploy(ctx context.Context, existing *store.Trigger, in *deployment, now time.Time) (store.Change, error) {
	alive := existing != nil && existing.DeletedAt == nil
	if in.revision != 0 && (!alive || uint64(existing.Revision) != in.revision) { //nolint:gosec // from 1
		return store.Change{}, rpc.Aborted("trigger %s is no longer at revision %d: it was changed; read it again", in.name, in.revision)
	}
	spec, automated, err := encode(in)
	if err != nil {
		return store.Change{}, err
	}
	who, err := caller.Encoded(ctx)
	if err != nil {
		return store.Change{}, err
	}
	next := &store.Trigger{
		Task: in.task, Name: in.name, Revision: 1, Active: in.spec.GetActive(), WithTask: in.withTask,
		AutomationType: int16(in.automation.GetType()), //nolint:gosec // checked
		Automation:     automated, Spec: spec, TaskVersion: in.spec.GetTaskVersion(), Description: in.spec.GetDescription(),
		DeployedBy: who, UpdatedBy: who, DeployedAt: now, UpdatedAt: now, Anchor: now,
	}
	if existing != nil {
		next.ID, next.Revision, next.TriggeredAt = existing.ID, existing.Revision+1, existing.TriggeredAt
	}
	sameSchedule := false
	var fires []store.Fire
	if alive {
		next.Switched = existing.Switched
		// A user's switch outlives deployments: a trigger that was switched off at night must not start again with the
		// next deployment.
		if next.Switched != nil {
			next.Active = *next.Switched
		}
		sameSchedule = bytes.Equal(existing.Automation, automated)
		// Fixed rates count from the anchor. With the same schedule, a deployment does not shift its slots.
		if sameSchedule {
			next.Anchor = existing.Anchor
		}
		same := sameSchedule && bytes.Equal(existing.Spec, spec) && existing.Active == next.Active && existing.WithTask == next.WithTask
		if same {
			return store.Change{Trigger: existing}, nil
		}
		if !sameSchedule || !next.Active {
			if fires, err = h.remaining(existing, now); err != nil {
				return store.Change{}, err
			}
		}
	}
	d, err := h.planner.decode(next)
	if err != nil {
		return store.Change{}, err
	}
	if sameSchedule && existing.Active && next.Active && existing.NextSlot != nil {
		d.arm(existing.NextSlot.Add(-time.Microsecond)) // the slot that was next, whatever the time is
	} else {
		d.arm(now)
	}
	return store.Change{
		Trigger: next, Action: int16(triggerpb.TriggerRevisionAction_TRIGGER_REVISION_ACTION_DEPLOY), Fires: fires,
		Artifact: in.automation.GetArtifact().GetArtifactName(),
	}, nil
}

// remaining picks up the slots of a trigger that were due before it changes, so that a change loses none.
func (h *handler) remaining(t *store.Trigger, now time.Time) ([]store.Fire, error) {
	if t.NextSlot == nil || t.NextSlot.After(now) {
		return nil, nil
	}
	before := *t
	before.NextFireAt = before.NextSlot // its jitter ends here
	d, err := h.planner.decode(&before)
	if err != nil {
		return nil, rpc.DataLoss(err, "trigger %s cannot be read", t.Name)
	}
	return d.due(now, h.planner.config.LateAfter), nil
}

// encode is how a trigger is stored: the same content has the same bytes.
func encode(in *deployment) (spec, automated []byte, err error) {
	kept := proto.CloneOf(in.spec)
	kept.Active = false // a column
	options := proto.MarshalOptions{Deterministic: true}
	if spec, err = options.Marshal(kept); err != nil {
		return nil, nil, in.invalid("spec", "cannot be encoded: %s", err.Error())
	}
	if automated, err = options.Marshal(in.automation); err != nil {
		return nil, nil, in.invalid("automation_spec", "cannot be encoded: %s", err.Error())
	}
	return spec, automated, nil
}
