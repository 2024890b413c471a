package pools

import (
	"sync"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// hub wakes what waits for a change of a pool in this process, on whichever replica that happens.
type hub struct {
	keepers, fleets stream.Hub[struct{}] // of any change; of other workers that should run

	mu       sync.Mutex
	sessions map[int64]map[*sessionSubscription]struct{} // GUARDED_BY(mu): by pool
	missed   map[int64]bool                              // GUARDED_BY(mu): pools with work for which no one had a slot
}

// sessionSubscription is that of a worker's session.
type sessionSubscription struct {
	ready  chan struct{} // has a token when something may have changed
	close  func()
	worker string

	hub     *hub
	free    int  // GUARDED_BY(hub.mu): its free slots
	reserve bool // GUARDED_BY(hub.mu): takes nested actions only
	look    bool // GUARDED_BY(hub.mu): its own work may have changed
	work    bool // GUARDED_BY(hub.mu): there is work to claim
}

func newHub() *hub {
	return &hub{sessions: map[int64]map[*sessionSubscription]struct{}{}, missed: map[int64]bool{}}
}

// heard handles a notification on store.Channel. A new connection may have missed some.
func (h *hub) heard(n pgdb.Notification) {
	change, ok := store.ParseChange(n.Payload)
	h.keepers.Broadcast(wake)
	if n.Resync || !ok || change.To == store.ForFleets {
		h.fleets.Broadcast(wake)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case n.Resync || !ok:
		for _, sessions := range h.sessions {
			for s := range sessions {
				s.tell(true, true)
			}
		}
	case change.To == store.ForWork:
		h.offer(change.Pool, change.Work)
	case change.To == store.ForWorker:
		for s := range h.sessions[change.Pool] {
			if change.Worker == "" || change.Worker == s.worker {
				s.tell(true, false)
			}
		}
	}
}

// wake is a change about which nothing is known.
func wake(*struct{}) {}

// offer wakes as many sessions with free slots as there is new work. Those in reserve may find nothing, and do not count. Work
// for which no one has a slot waits for the first that has one: a session whose claim was too early for it may be about to say so.
func (h *hub) offer(pool int64, work int) { //nolint:gocritic // the lock is held
	for s := range h.sessions[pool] {
		switch {
		case s.free <= 0 || s.work: // full, or woken already
		case s.reserve:
			s.tell(false, true)
		case work > 0:
			work -= s.free
			s.tell(false, true)
		}
	}
	if work > 0 && len(h.sessions[pool]) > 0 {
		h.missed[pool] = true
	}
}

func (s *sessionSubscription) tell(look, work bool) {
	s.look, s.work = s.look || look, s.work || work
	select {
	case s.ready <- struct{}{}:
	default: // a token is there already
	}
}

// told returns what the session was woken for.
func (s *sessionSubscription) told() (look, work bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	look, work = s.look, s.work
	s.look, s.work = false, false
	return look, work
}

// has notes the free slots of the session. woken says that it has just claimed because it was woken: if that has filled it,
// there may be work for another.
func (s *sessionSubscription) has(pool int64, free int, reserve, woken bool) {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.free, s.reserve = free, reserve
	switch {
	case free > 0 && s.hub.missed[pool]:
		delete(s.hub.missed, pool)
		s.tell(false, true)
	case free <= 0 && woken:
		s.hub.offer(pool, 1)
	}
}

// join subscribes a session. It must claim once before it waits, since work that came earlier does not wake it.
func (h *hub) join(pool int64, worker string) *sessionSubscription {
	s := &sessionSubscription{ready: make(chan struct{}, 1), worker: worker, hub: h}
	s.close = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.sessions[pool], s)
		if len(h.sessions[pool]) == 0 {
			delete(h.sessions, pool)
			delete(h.missed, pool) // the next session claims first
		}
		if s.work { // what it was woken for is for others
			h.offer(pool, 1)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[pool] == nil {
		h.sessions[pool] = map[*sessionSubscription]struct{}{}
	}
	h.sessions[pool][s] = struct{}{}
	return s
}
