package store

import (
	"time"

	"github.com/flyte-binary/flyte-binary/runs/state"
)

// Due says what the engine does with an action at its wake_at.
type Due int16

// What may be due. An action that an executor has is ended a little late: the executor knows better than we do whether
// it has started or ended in time, and says so within that grace unless it is gone.
const (
	DueNothing      Due = 0
	DueStart        Due = 1 // the engine runs it, and is to begin
	DueEnd          Due = 2 // the engine runs it, and it is done
	DueRuntime      Due = 3 // the engine runs it, and its attempt has run too long
	DueQueued       Due = 4 // it must have begun to start by now
	DueDeadline     Due = 5 // it must have ended by now; of a condition, it must have been signalled
	DueQueuedLate   Due = 6 // as DueQueued, and the executor had its chance to say otherwise
	DueDeadlineLate Due = 7 // as DueDeadline, likewise
)

// Limits are how long an action may take; 0 means without limit.
type Limits struct {
	// Queued is how long an attempt may wait until something is prepared for its start.
	Queued time.Duration
	// Deadline is how long the action may take from its recording to its end.
	Deadline time.Duration
}

// stand is what decides about the next thing that is due.
type stand struct {
	known    bool
	attempt  int32
	waits    bool
	admitted bool
}

func (r *row) stand() stand {
	return stand{known: true, attempt: r.Attempt, waits: r.waits(), admitted: r.AdmittedAt != nil}
}

// waits tells whether nothing is prepared for a start yet.
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

// queuedLimit and deadline are the limits again; 0 where there is none.
func (r *row) queuedLimit() time.Duration { return r.sinceCreation(r.QueuedUntil) }
func (r *row) deadline() time.Duration    { return r.sinceCreation(r.DeadlineAt) }

func (r *row) sinceCreation(at *time.Time) time.Duration {
	if at == nil {
		return 0
	}
	return at.Sub(r.CreatedAt)
}

// scheduleAll sets what is due next of every row that changed in a way that matters for it.
func (b *batch) scheduleAll() {
	for _, run := range b.order {
		for _, r := range run.changed {
			b.schedule(r)
		}
	}
}

func (b *batch) schedule(r *row) {
	now := r.stand()
	if state.Terminal(r.Phase) || r.was == now {
		return
	}
	if r.Attempt > 1 && now.waits && r.was.waits && r.was.attempt == r.Attempt {
		return // the limit counts from the beginning of the attempt's wait
	}
	r.WakeAt, r.Due = r.DeadlineAt, DueDeadline
	earliest := func(at *time.Time, due Due) {
		if at != nil && (r.WakeAt == nil || at.Before(*r.WakeAt)) {
			r.WakeAt, r.Due = at, due
		}
	}
	if now.waits {
		earliest(r.queueEnd(b.now), DueQueued)
	}
	switch {
	case r.Runner != RunnerEngine || !now.admitted:
	case r.Phase == state.Queued:
		earliest(&b.now, DueStart)
	case r.ends != nil:
		earliest(r.ends, r.endsBy)
	}
	if r.WakeAt == nil {
		r.Due = DueNothing
	}
}

// queueEnd is when the wait of the current attempt is over, which a pause before the attempt does not count into.
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
