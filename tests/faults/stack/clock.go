package stack

import (
	"os"
	"sync"
	"time"
)

// serverClock is the server's time of day, which is off from that of the machine.
type serverClock struct {
	mu     sync.Mutex
	offset time.Duration // GUARDED_BY(mu)
	latest time.Time     // GUARDED_BY(mu): the latest time that it showed before it was set last
}

// ClockLag is longer than a server takes to see that its clock was set.
const ClockLag = 100 * time.Millisecond

// StepClock sets the server's time of day forwards or backwards.
func (s *Stack) StepClock(by time.Duration) error {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	if now := time.Now().Add(s.clock.offset); now.After(s.clock.latest) {
		s.clock.latest = now
	}
	s.clock.offset += by
	// The server must never read a part of the file: that would be another time.
	path := s.clockOffset()
	if err := os.WriteFile(path+".new", []byte(s.clock.offset.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Now is the server's time of day, and latest the latest that it has ever shown.
func (s *Stack) Now() (now, latest time.Time) {
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	now = time.Now().Add(s.clock.offset).Round(0)
	if now.After(s.clock.latest) {
		return now, now
	}
	return now, s.clock.latest.Round(0)
}
