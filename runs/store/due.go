package store

import (
	"time"

	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// atOnce is the wake_at of work that is due when it is written: a time so long ago that it is still due after the clock
// was set back.
func atOnce() *time.Time { return new(time.Unix(0, 0).UTC()) }

// stand holds the fields that determine the next due work.
type stand struct {
	known    bool
	attempt  int32
	waits    bool
	admitted bool
}

func (r *row) stand() stand {
	return stand{known: true, attempt: r.Attempt, waits: r.waits(), admitted: r.AdmittedAt != nil}
}

// waits reports whether the start of the attempt has not been prepared yet.
func (r *row) waits() bool { return r.Phase == state.Queued || r.Phase == state.WaitingForResources }

// limit turns the limits of a new action into times.
func (r *row) limit() {
	after := func(d time.Duration) *time.Time {
		if d <= 0 {
			return nil
		}
		at := r.CreatedAt.Add(d).Truncate(time.Microsecond)
		return &at
	}
	r.QueuedUntil, r.DeadlineAt = after(r.Limits.Queued), after(r.Limits.Deadline)
}

// queuedLimit and deadline return the limits as durations; 0 means none.
func (r *row) queuedLimit() time.Duration { return r.sinceCreation(r.QueuedUntil) }
func (r *row) deadline() time.Duration    { return r.sinceCreation(r.DeadlineAt) }

func (r *row) sinceCreation(at *time.Time) time.Duration {
	if at == nil {
		return 0
	}
	return at.Sub(r.CreatedAt)
}

// scheduleAll sets the next due work of every row whose stand changed.
func (b *batch) scheduleAll() {
	for _, run := range b.order {
		for _, r := range run.changed {
			b.schedule(r)
		}
	}
}

// dueAnew reports whether the row is due at another time than before.
func (r *row) dueAnew() bool {
	return r.WakeAt != nil && (r.wasWake == nil || !r.WakeAt.Equal(*r.wasWake))
}

func (b *batch) schedule(r *row) {
	now := r.stand()
	if !r.Runner.Admitted() {
		b.expectReport(r)
		return
	}
	if state.Terminal(r.Phase) || r.was == now {
		return
	}
	if r.Attempt > 1 && now.waits && r.was.waits && r.was.attempt == r.Attempt {
		return // the limit counts from the beginning of the attempt's wait
	}
	r.WakeAt, r.Due = r.DeadlineAt, schema.DueDeadline
	earliest := func(at *time.Time, due schema.Due) {
		if at != nil && (r.WakeAt == nil || at.Before(*r.WakeAt)) {
			r.WakeAt, r.Due = at, due
		}
	}
	if now.waits {
		earliest(r.queueEnd(b.now), schema.DueQueued)
	}
	switch {
	case !r.Runner.InProcess() || !now.admitted:
	case r.Phase == state.Queued:
		earliest(atOnce(), schema.DueStart)
	case r.ends != nil:
		earliest(r.ends, r.endsBy)
	}
	if r.WakeAt == nil {
		r.Due = schema.DueNothing
	}
}

// queueEnd is when the current attempt exceeds its queued limit. A pause before the attempt does not count.
func (r *row) queueEnd(now time.Time) *time.Time {
	if r.QueuedUntil == nil || r.Attempt == 1 {
		return r.QueuedUntil
	}
	if r.begins != nil {
		now = *r.begins
	}
	end := now.Add(r.queuedLimit())
	return &end
}
