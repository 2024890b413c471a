package apps

import (
	"strconv"
	"sync"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// hub wakes the streams of this process when an app changes, on whichever replica that happens.
type hub struct {
	mu            sync.Mutex
	subscriptions map[*subscription]struct{} // GUARDED_BY(mu)
}

func newHub() *hub { return &hub{subscriptions: map[*subscription]struct{}{}} }

// heard handles a notification on store.Channel. A new connection may have missed some.
func (h *hub) heard(n pgdb.Notification) {
	id, err := strconv.ParseInt(n.Payload, 10, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subscriptions {
		s.add(id, n.Resync || err != nil)
	}
}

func (h *hub) subscribe() *subscription {
	s := &subscription{hub: h, ready: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subscriptions[s] = struct{}{}
	return s
}

// maxPending is how many changes a stream notes by their app; with more it looks at all.
const maxPending = 1000

// subscription has the changes that one stream has not looked at.
type subscription struct {
	hub   *hub
	ready chan struct{}

	mu  sync.Mutex
	ids map[int64]struct{} // GUARDED_BY(mu)
	all bool               // GUARDED_BY(mu): any app may have changed
}

func (s *subscription) close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subscriptions, s)
}

func (s *subscription) add(id int64, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all = s.all || all || len(s.ids) >= maxPending; s.all {
		s.ids = nil
	} else {
		if s.ids == nil {
			s.ids = map[int64]struct{}{}
		}
		s.ids[id] = struct{}{}
	}
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// take returns the apps that have changed; nil means that any may have.
func (s *subscription) take() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.ids, s.all = nil, false }()
	if s.all {
		return nil
	}
	ids := make([]int64, 0, len(s.ids))
	for id := range s.ids {
		ids = append(ids, id)
	}
	return ids
}
