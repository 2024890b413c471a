package triggers

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	triggerpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/triggers/schedule"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// planner decides which slots of a trigger fire. Its functions are pure.
type planner struct{ config Config }

// decoded is a trigger with what its bytes say.
type decoded struct {
	*store.Trigger
	spec       *triggerpb.TriggerSpec
	automation *task.TriggerAutomationSpec
	policy     policy
	// schedule is set for scheduled triggers only.
	schedule *schedule.Schedule
}

// decode parses a trigger. An error means that the row cannot be scheduled: callers log it and go to the next trigger,
// so that one broken row does not hold up the others.
func (p planner) decode(t *store.Trigger) (*decoded, error) {
	d := &decoded{Trigger: t, spec: &triggerpb.TriggerSpec{}, automation: &task.TriggerAutomationSpec{}}
	if err := proto.Unmarshal(t.Spec, d.spec); err != nil {
		return nil, fmt.Errorf("the stored spec of trigger %s cannot be read: %w", t.Name, err)
	}
	if err := proto.Unmarshal(t.Automation, d.automation); err != nil {
		return nil, fmt.Errorf("the stored automation of trigger %s cannot be read: %w", t.Name, err)
	}
	var err error
	if d.policy, err = p.config.policyOf(d.spec.GetRunSpec().GetAnnotations().GetValues()); err != nil {
		return nil, err
	}
	if d.automation.GetType() == task.TriggerAutomationSpecType_TYPE_SCHEDULE {
		s, err := schedule.Parse(d.automation.GetSchedule(), t.Anchor)
		if err != nil {
			return nil, err
		}
		d.schedule = &s
	}
	return d, nil
}

// arm sets the next slot of a trigger: the first after a time, unless it is inactive, deleted or has no schedule.
func (d *decoded) arm(after time.Time) {
	d.NextSlot, d.NextFireAt = nil, nil
	if d.schedule == nil || !d.Active || d.DeletedAt != nil {
		return
	}
	if slot, ok := d.schedule.Next(after); ok {
		fire := slot.Add(d.policy.delay(d.Task.Name+"\x00"+d.Name, slot))
		d.NextSlot, d.NextFireAt = &slot, &fire
	}
}

// due picks up the slots of a trigger that are due, if any, and arms the next one. Of missed slots it picks up what the
// policy says; the others become one entry in the history, with the range.
func (d *decoded) due(now time.Time, lateAfter time.Duration) []store.Fire {
	if d.schedule == nil || d.NextSlot == nil || d.NextFireAt.After(now) {
		return nil
	}
	until := now
	if d.NextSlot.After(until) {
		until = *d.NextSlot // the clock was set back between two looks
	}
	limit := d.policy.catchUpLimit
	if d.policy.catchUp != catchUpAll {
		limit = 1
	}
	slots, first := d.schedule.Latest(*d.NextSlot, until, limit)
	if len(slots) == 0 { // the rules of a zone have changed with a release
		d.arm(now)
		return nil
	}
	last := slots[len(slots)-1]
	var fires []store.Fire
	if d.policy.catchUp == catchUpNone && now.Sub(last.Add(d.policy.jitter)) > lateAfter {
		fires = append(fires, d.skip(last, now, fmt.Sprintf("missed, and the policy for missed slots is %s: the slots from %s until %s do not run",
			catchUpNone, first.Format(time.RFC3339), last.Format(time.RFC3339))))
	} else {
		if oldest := slots[0]; first.Before(oldest) {
			fires = append(fires, d.skip(first, now, fmt.Sprintf("missed: of the slots from %s until %s, the policy for missed slots runs the latest %d",
				first.Format(time.RFC3339), last.Format(time.RFC3339), len(slots))))
		}
		for _, slot := range slots {
			fires = append(fires, d.fire(slot, now))
		}
		d.TriggeredAt = &now
	}
	d.arm(last)
	return fires
}

// fire is a slot whose run is created at once.
func (d *decoded) fire(slot, now time.Time) store.Fire {
	return store.Fire{
		TriggerID: d.ID, Slot: slot, Revision: d.Revision, State: store.Pending, RunName: runName(d.Trigger, slot, ""), RetryAt: &now, RecordedAt: now,
	}
}

// skip is a slot that has no run.
func (d *decoded) skip(slot, now time.Time, reason string) store.Fire {
	return store.Fire{
		TriggerID: d.ID, Slot: slot, Revision: d.Revision, State: store.Skipped, Reason: reason, RecordedAt: now, SettledAt: &now,
	}
}
