package workers

import (
	"strconv"
	"sync"

	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/workers/store"
)

// anyPool subscribes to the changes of all pools.
const anyPool = 0

// ranks order the audiences: each has those before it.
var ranks = map[store.Audience]int{store.ForKeeper: 1, store.ForSessions: 2, store.ForFleets: 3}

// hub wakes what waits for a change of a pool in this process, on whichever replica that happens.
type hub struct {
	mu            sync.Mutex
	subscriptions map[*subscription]struct{} // GUARDED_BY(mu)
}

// subscription has a token in ready when its pool may have changed.
type subscription struct {
	pool  int64
	least int // the rank of the changes that concern it
	ready chan struct{}
	hub   *hub
}

func newHub() *hub { return &hub{subscriptions: map[*subscription]struct{}{}} }

// heard handles a notification on store.Channel. A new connection may have missed some.
func (h *hub) heard(n pgdb.Notification) {
	rank, id, all := 0, int64(0), true
	if !n.Resync && n.Payload != "" {
		var err error
		rank = ranks[store.Audience(n.Payload[:1])]
		id, err = strconv.ParseInt(n.Payload[1:], 10, 64)
		all = err != nil || rank == 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subscriptions {
		if all || rank >= s.least && (s.pool == anyPool || s.pool == id) {
			s.wake()
		}
	}
}

func (h *hub) subscribe(to store.Audience, pool int64) *subscription {
	s := &subscription{pool: pool, least: ranks[to], ready: make(chan struct{}, 1), hub: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subscriptions[s] = struct{}{}
	return s
}

func (s *subscription) wake() {
	select {
	case s.ready <- struct{}{}:
	default: // a token is there already
	}
}

func (s *subscription) close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subscriptions, s)
}
