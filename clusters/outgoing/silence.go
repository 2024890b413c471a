package outgoing

import (
	"sync"
	"time"
)

const (
	// doubtAfter is how long after the last call that the API has acknowledged it may count the cluster as away. It does so after 10 s
	// without one; the clocks of two machines do not run equally fast.
	doubtAfter = 8 * time.Second
	// heardWithin is how long after such a silence this process may still learn what was taken back because of it.
	heardWithin = 30 * time.Second
)

// silence knows when the API may have taken work back from this cluster. It is safe for concurrent use.
type silence struct {
	mu    sync.Mutex
	heard time.Time // GUARDED_BY(mu): when the last call was sent that the API has acknowledged; zero for none
	until time.Time // GUARDED_BY(mu): until when this process may still learn what was taken back
}

// acknowledged notes that the API has acknowledged a call.
func (s *silence) acknowledged(sent, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isLong(now) {
		s.until = now.Add(heardWithin)
	}
	s.heard = sent
}

func (s *silence) isLong(now time.Time) bool {
	return s.heard.IsZero() || now.Sub(s.heard) >= doubtAfter
}

func (s *silence) doubtful(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isLong(now) || now.Before(s.until)
}

// Doubtful reports whether the API may have taken work back from this cluster, and this process may not have heard all of it: the API has
// not heard it for too long, or did not until a moment ago.
func (s *Service) Doubtful() bool { return s.silence.doubtful(s.deps.Clock.Now()) }
