package apps

import (
	"strconv"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// hub wakes the streams of this process when an app changes, on whichever replica that happens.
type hub struct{ stream.Hub[changes] }

// heard handles a notification on store.Channel. A new connection may have missed some.
func (h *hub) heard(n pgdb.Notification) {
	id, err := strconv.ParseInt(n.Payload, 10, 64)
	h.Broadcast(func(c *changes) { c.add(id, n.Resync || err != nil) })
}

// maxPending is how many changes a stream notes by their app; with more it compares all.
const maxPending = 1000

// changes are those that one stream has not handled.
type changes struct {
	ids map[int64]struct{}
	all bool // any app may have changed
}

// add notes a change. Past maxPending, or after a reconnection, the ids are dropped: one comparison of everything is
// cheaper than many single ones.
func (c *changes) add(id int64, all bool) {
	if c.all = c.all || all || len(c.ids) >= maxPending; c.all {
		c.ids = nil
		return
	}
	if c.ids == nil {
		c.ids = map[int64]struct{}{}
	}
	c.ids[id] = struct{}{}
}

// apps returns the apps that have changed; nil means that any may have.
func (c changes) apps() []int64 {
	if c.all {
		return nil
	}
	ids := make([]int64, 0, len(c.ids))
	for id := range c.ids {
		ids = append(ids, id)
	}
	return ids
}
