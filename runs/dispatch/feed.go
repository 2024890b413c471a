package dispatch

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Feed tells subscribers what happens to the live set and the queue: exactly, for commits of this process; by run, for
// those of other replicas; and that anything may have happened, when notifications were lost.
type Feed struct {
	replica string
	hub     stream.Hub[Changes]
}

var _ store.LiveObserver = (*Feed)(nil)

// NewFeed returns a feed. replica is the name that the local writer puts into its notifications.
func NewFeed(replica string) *Feed {
	return &Feed{replica: replica}
}

// Changes are what a subscriber has not taken yet.
type Changes struct {
	// Live has for each action that changed whether it is live now.
	Live map[int64]LiveRef
	// Runs are those in which another replica changed something.
	Runs map[int64]struct{}
	// Due is the earliest time at which an action that changed is due; zero when none is.
	Due time.Time
	// Queued says that there may be something to admit.
	Queued bool
	// Held says that actions got a hold.
	Held bool
	// Resync says that anything may have changed.
	Resync bool
}

// LiveRef is an action that became live or is no longer.
type LiveRef struct {
	schema.Ref
	Live bool
}

// Subscription collects changes for one subscriber. What is collected is bounded by the number of actions that change
// between two calls of Take, each once.
type Subscription = stream.Subscription[Changes]

// Subscribe begins to collect. Close must be called.
func (f *Feed) Subscribe() *Subscription { return f.hub.Subscribe() }

// LiveChanged implements store.LiveObserver.
func (f *Feed) LiveChanged(change store.LiveChange) {
	f.hub.Broadcast(func(c *Changes) {
		if c.Live == nil {
			c.Live = make(map[int64]LiveRef, len(change.Admitted)+len(change.Ended))
		}
		for _, ref := range change.Admitted {
			c.Live[ref.ID] = LiveRef{Ref: ref, Live: true}
		}
		for _, ref := range change.Ended {
			c.Live[ref.ID] = LiveRef{Ref: ref}
		}
		c.Queued = c.Queued || len(change.Queued) > 0
		c.Held = c.Held || len(change.Held) > 0
		if !change.Due.IsZero() && (c.Due.IsZero() || change.Due.Before(c.Due)) {
			c.Due = change.Due
		}
	})
}

// Heard handles a notification on store.ChannelLive.
func (f *Feed) Heard(n pgdb.Notification) {
	notice, err := notices.ParseNotice(n.Payload)
	if err == nil && notice.Replica == f.replica && f.replica != "" {
		return // LiveChanged has reported exactly what our own commits did
	}
	resync := n.Resync || err != nil || notice.Replica == ""
	f.hub.Broadcast(func(c *Changes) {
		c.Queued = true
		c.Resync = c.Resync || resync
		if c.Runs == nil {
			c.Runs = make(map[int64]struct{}, len(notice.Runs))
		}
		for _, id := range notice.Runs {
			c.Runs[id] = struct{}{}
		}
	})
}
