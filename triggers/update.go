package triggers

import (
	"context"
	"errors"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	triggerpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// maxNames is how many triggers one request changes. They change together, in one transaction.
const maxNames = 1000

// UpdateTriggers implements triggerconnect.TriggerServiceHandler: it switches triggers on or off, all or none. Slots of the
// time in which a trigger was off do not fire. Deployments do not change what was set here.
func (h *handler) UpdateTriggers(ctx context.Context, r *triggerpb.UpdateTriggersRequest) (*triggerpb.UpdateTriggersResponse, error) {
	active, now := r.GetActive(), h.clock.Now()
	return &triggerpb.UpdateTriggersResponse{}, h.changeNamed(ctx, r.GetNames(), func(t *store.Trigger) (store.Change, error) {
		same := t.Active == active
		if same && t.Switched != nil && *t.Switched == active {
			return store.Change{}, nil
		}
		next := *t
		next.Switched = &active
		if same { // only the next deployment will see a difference
			return store.Change{Trigger: &next}, nil
		}
		var fires []store.Fire
		var err error
		if !active {
			if fires, err = h.remaining(t, now); err != nil {
				return store.Change{}, err
			}
		}
		if next.UpdatedBy, err = caller.Encoded(ctx); err != nil {
			return store.Change{}, err
		}
		next.Active, next.UpdatedAt, next.Revision = active, now, t.Revision+1
		d, err := h.planner.decode(&next)
		if err != nil {
			return store.Change{}, rpc.DataLoss(err, "trigger %s cannot be read", t.Name)
		}
		d.arm(now)
		action := triggerpb.TriggerRevisionAction_TRIGGER_REVISION_ACTION_DEACTIVATE
		if active {
			action = triggerpb.TriggerRevisionAction_TRIGGER_REVISION_ACTION_ACTIVATE
		}
		return store.Change{Trigger: &next, Action: int16(action), Fires: fires, Artifact: d.automation.GetArtifact().GetArtifactName()}, nil
	})
}

// DeleteTriggers implements triggerconnect.TriggerServiceHandler: it deletes triggers, all or none. Their history stays.
func (h *handler) DeleteTriggers(ctx context.Context, r *triggerpb.DeleteTriggersRequest) (*triggerpb.DeleteTriggersResponse, error) {
	now := h.clock.Now()
	return &triggerpb.DeleteTriggersResponse{}, h.changeNamed(ctx, r.GetNames(), func(t *store.Trigger) (store.Change, error) {
		return h.delete(ctx, t, now)
	})
}

// delete marks a trigger as deleted. The row stays: it has the history, and a later deployment of the same name
// continues its revisions.
func (h *handler) delete(ctx context.Context, t *store.Trigger, now time.Time) (store.Change, error) {
	fires, err := h.remaining(t, now)
	if err != nil {
		return store.Change{}, err
	}
	next := *t
	if next.UpdatedBy, err = caller.Encoded(ctx); err != nil {
		return store.Change{}, err
	}
	next.Revision, next.Active, next.Switched = t.Revision+1, false, nil
	next.UpdatedAt, next.DeletedAt, next.NextSlot, next.NextFireAt = now, &now, nil, nil
	return store.Change{Trigger: &next, Action: int16(triggerpb.TriggerRevisionAction_TRIGGER_REVISION_ACTION_DELETE), Fires: fires}, nil
}

// change changes triggers of tasks in one transaction. Where one begins or ends to wait for an artifact, it first asks
// for a mark of the new versions: those that were acknowledged before are for the triggers as they were. The mark costs
// a call, and few changes require it, so the first attempt is made without; decide may be called twice.
func (h *handler) change(ctx context.Context, tasks []store.Task, decide func([]*store.Trigger) ([]store.Change, error)) error {
	err := h.store.ChangeTasks(ctx, tasks, nil, decide)
	if !errors.Is(err, store.ErrNoMark) {
		return err
	}
	answer, err := h.events.GetArtifactMark(authz.AsService(ctx, serviceName), &enginev1.GetArtifactMarkRequest{})
	if err != nil {
		return err
	}
	mark := answer.GetSeq()
	return h.store.ChangeTasks(ctx, tasks, &mark, decide)
}

// changeNamed changes triggers in one transaction. It returns NotFound if one of them does not exist.
func (h *handler) changeNamed(ctx context.Context, names []*common.TriggerName, change func(*store.Trigger) (store.Change, error)) error {
	if len(names) > maxNames {
		return rpc.InvalidArgument("names", "at most %d triggers are allowed per call, got %d", maxNames, len(names))
	}
	tasks := make([]store.Task, 0, len(names))
	for _, name := range names {
		tasks = append(tasks, taskOf(name))
	}
	return h.change(ctx, tasks, func(triggers []*store.Trigger) ([]store.Change, error) {
		var changes []store.Change
		seen := map[int64]bool{}
		for _, name := range names {
			t := byName(triggers, taskOf(name), name.GetName())
			if t == nil || t.DeletedAt != nil {
				return nil, rpc.NotFound("trigger %s of task %s does not exist in %s/%s", name.GetName(), name.GetTaskName(), name.GetProject(), name.GetDomain())
			}
			if seen[t.ID] {
				continue
			}
			seen[t.ID] = true
			c, err := change(t)
			if err != nil {
				return nil, err
			}
			if c.Trigger != nil {
				changes = append(changes, c)
			}
		}
		return changes, nil
	})
}
