package triggers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// ExplainTrigger implements insightv1connect.TriggerInsightServiceHandler.
func (h *handler) ExplainTrigger(ctx context.Context, r *insightv1.ExplainTriggerRequest) (*insightv1.ExplainTriggerResponse, error) {
	t, err := h.store.Get(ctx, taskOf(r.GetName()), r.GetName().GetName(), true)
	if err != nil {
		return nil, err
	}
	limit := int(cmp.Or(r.GetLimit(), 10))
	answer := &insightv1.ExplainTriggerResponse{
		Revision: uint64(t.Revision), Active: t.Active, Paused: t.Switched != nil && !*t.Switched, //nolint:gosec // from 1
	}
	slots, err := h.store.Fires(ctx, t.ID, nil, limit)
	if err != nil {
		return nil, err
	}
	for i := range slots {
		answer.Slots = append(answer.Slots, slotMessage(t, &slots[i]))
	}
	d, err := h.planner.decode(t)
	if err != nil {
		answer.Reason = sentence.Say("It cannot be scheduled: %s.", err)
		return answer, nil
	}
	answer.CatchUp, answer.CatchUpLimit = d.policy.catchUp, uint32(d.policy.catchUpLimit) //nolint:gosec // small
	answer.Concurrency, answer.Jitter = d.policy.concurrency, durationpb.New(d.policy.jitter)
	switch {
	case d.schedule != nil:
		answer.Schedule = d.schedule.Words()
	case d.automation.GetArtifact() != nil:
		answer.Schedule = artifactWords(d.automation.GetArtifact())
		if answer.Ignored, err = h.ignored(ctx, d, limit); err != nil {
			return nil, err
		}
	}
	if d.DeletedAt == nil {
		if answer.Notes, err = h.notes(ctx, d); err != nil {
			return nil, err
		}
	}
	answer.Reason = d.silence(answer.GetPaused())
	if answer.GetReason() == "" && d.schedule != nil {
		for _, slot := range d.coming(limit) {
			answer.Next = append(answer.Next, timestamppb.New(slot))
		}
	}
	return answer, nil
}

// silence is why no slot of a trigger is coming; empty if one is. The first reason that holds is the one that a user
// has to remove first.
func (d *decoded) silence(paused bool) string {
	switch {
	case d.DeletedAt != nil:
		return sentence.Say("It was deleted at %s.", d.DeletedAt.Format(time.RFC3339))
	case d.automation.GetType() == task.TriggerAutomationSpecType_TYPE_NONE:
		return sentence.Say("It has no schedule and waits for no artifact. It only runs manually.")
	case paused:
		return sentence.Say("A user disabled it. Deployments keep it disabled until a user enables it.")
	case !d.Active:
		return sentence.Say("It was deployed disabled. Enable it, or deploy it with auto_activate.")
	case d.schedule != nil && d.NextSlot == nil:
		return sentence.Say("Its schedule has no further runs.")
	}
	return ""
}

// notes are what people should know about the runs of a trigger, as the runs service says it now; or why it would refuse
// them.
func (h *handler) notes(ctx context.Context, d *decoded) ([]string, error) {
	notes, err := h.checkRun(ctx, &deployment{task: d.Task, name: d.Name, spec: d.spec, automation: d.automation, stored: true})
	switch {
	case err == nil || ctx.Err() != nil:
		return notes, ctx.Err()
	case temporary(err):
		return nil, nil // nothing is known, and the rest of the answer is right
	default:
		return []string{"Its runs are refused: " + message(err)}, nil
	}
}

// coming are the next slots, the first of which may be due already.
func (d *decoded) coming(limit int) []time.Time {
	slots := []time.Time{*d.NextSlot}
	for len(slots) < limit {
		next, ok := d.schedule.Next(slots[len(slots)-1])
		if !ok {
			break
		}
		slots = append(slots, next)
	}
	return slots
}

// ListSlots implements insightv1connect.TriggerInsightServiceHandler.
func (h *handler) ListSlots(ctx context.Context, r *insightv1.ListSlotsRequest) (*insightv1.ListSlotsResponse, error) {
	t, err := h.store.Get(ctx, taskOf(r.GetName()), r.GetName().GetName(), true)
	if err != nil {
		return nil, err
	}
	var before *time.Time
	if r.GetBefore() != nil {
		if before, err = moment("before", r.GetBefore()); err != nil {
			return nil, err
		}
	}
	limit := int(cmp.Or(r.GetLimit(), 50))
	slots, err := h.store.Fires(ctx, t.ID, before, limit+1)
	if err != nil {
		return nil, err
	}
	answer := &insightv1.ListSlotsResponse{More: len(slots) > limit}
	for i := range slots[:min(limit, len(slots))] {
		answer.Slots = append(answer.Slots, slotMessage(t, &slots[i]))
	}
	return answer, nil
}

func slotMessage(t *store.Trigger, f *store.Fire) *insightv1.Slot {
	slot := &insightv1.Slot{
		Time: timestamppb.New(f.Slot), State: insightv1.SlotState(f.State), Reason: f.Reason, Revision: uint64(f.Revision), //nolint:gosec // from 1
		Attempts: uint32(f.Attempts), RecordedAt: timestamppb.New(f.RecordedAt), SettledAt: timestamp(f.SettledAt), //nolint:gosec // not negative
	}
	if f.State == store.Started {
		slot.RunId = runID(t, f)
	}
	if f.State == store.Pending && f.Attempts > 0 && f.RetryAt != nil {
		slot.Reason = fmt.Sprintf("%s; tried again at %s", f.Reason, f.RetryAt.Format(time.RFC3339))
	}
	slot.Artifact = artifactVersion(t, f)
	if f.BackfillID != nil {
		slot.Backfill = uint64(*f.BackfillID) //nolint:gosec // from 1
	}
	return slot
}
