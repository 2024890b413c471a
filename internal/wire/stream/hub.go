package stream

import "sync"

// Hub wakes the streams of this process when something changes. Each subscription collects what has changed in a value of type C until
// its stream takes it, so a slow stream costs no more than that value. The zero value is ready.
type Hub[C any] struct {
	mu            sync.Mutex
	subscriptions map[*Subscription[C]]struct{} // GUARDED_BY(mu)
}

// Subscribe begins to collect. A stream subscribes before it reads its snapshot, so that it misses no change. Close must be called.
func (h *Hub[C]) Subscribe() *Subscription[C] {
	s := &Subscription[C]{hub: h, ready: make(chan struct{}, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subscriptions == nil {
		h.subscriptions = map[*Subscription[C]]struct{}{}
	}
	h.subscriptions[s] = struct{}{}
	return s
}

// Broadcast adds a change to what each subscription has collected.
func (h *Hub[C]) Broadcast(add func(*C)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subscriptions {
		s.update(add)
	}
}

// Subscription is that of one stream.
type Subscription[C any] struct {
	hub   *Hub[C]
	ready chan struct{}

	mu        sync.Mutex
	collected C // GUARDED_BY(mu)
}

// Ready has a token when there is something to Take.
func (s *Subscription[C]) Ready() <-chan struct{} { return s.ready }

// Take returns what was collected since the last call, and begins again with the zero value.
func (s *Subscription[C]) Take() C {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.collected
	var none C
	s.collected = none
	return taken
}

// Close ends the subscription.
func (s *Subscription[C]) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.subscriptions, s)
}

func (s *Subscription[C]) update(add func(*C)) {
	s.mu.Lock()
	add(&s.collected)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default: // a token is there already
	}
}
