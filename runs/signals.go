package runs

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
)

// admissionSignals adapts the live feed to admission.
type admissionSignals struct{ *dispatch.Subscription }

// Take implements admission.Signals.
func (a admissionSignals) Take() (queued, moved bool) {
	changes := a.Subscription.Take()
	elsewhere := changes.Resync || len(changes.Runs) > 0
	return changes.Queued || elsewhere, elsewhere || len(changes.Live) > 0
}

// timerSignals adapts the live feed to the timers.
type timerSignals struct {
	*dispatch.Subscription
	clock clock.Clock
}

// Take implements timers.Signals. What another replica changed may be due at once.
func (t timerSignals) Take() time.Time {
	changes := t.Subscription.Take()
	if changes.Resync || len(changes.Runs) > 0 {
		return t.clock.Now()
	}
	return changes.Due
}

// cacheSignals adapts the live feed to the cache link.
type cacheSignals struct{ *dispatch.Subscription }

// Take implements cachelink.Signals.
func (c cacheSignals) Take() cachelink.Happened {
	changes := c.Subscription.Take()
	happened := cachelink.Happened{Held: changes.Held, Elsewhere: changes.Resync || len(changes.Runs) > 0}
	for id, ref := range changes.Live {
		if !ref.Live {
			happened.Ended = append(happened.Ended, id)
		}
	}
	return happened
}

// heardLists wakes the loop of a list that has a new entry.
func (l *loops) heardLists(n pgdb.Notification) {
	if n.Resync || n.Payload == notices.ListWebhooks {
		l.webhooks.Wake()
	}
	if (n.Resync || n.Payload == notices.ListProduced) && l.artifacts.outputs != nil {
		l.artifacts.outputs.Wake()
	}
}
