package connectors

import (
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

// silentAfter is after how many calls in a row that did not reach it a connector is no longer asked about all jobs that are due.
const silentAfter = 4

// silence counts calls in a row that did not reach a connector. When there are several, one job at a time is used to see whether it
// answers again, with pauses that grow: thousands of jobs need not find out one after the other that it is away, each after the whole
// time that a call may take. The jobs stay due, and are not changed.
type silence struct {
	first, longest time.Duration

	mu      sync.Mutex
	missed  int       // GUARDED_BY(mu)
	pauses  int       // GUARDED_BY(mu): since the connector was reached
	next    time.Time // GUARDED_BY(mu): when the next probe may begin
	waiting bool      // GUARDED_BY(mu): next is set
}

// reached notes a call that got an answer, whatever it was.
func (s *silence) reached() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.missed, s.pauses, s.waiting = 0, 0, false
}

// notReached notes a call that got none.
func (s *silence) notReached(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.missed++; s.missed < silentAfter || s.waiting {
		return
	}
	s.pauses++
	s.next, s.waiting = now.Add(backoff.After(s.first, s.longest, s.pauses)), true
}

// tripped reports whether only one job is asked about at a time.
func (s *silence) tripped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missed >= silentAfter
}

// pause is how long it is until the next probe; 0 if there is nothing to wait for.
func (s *silence) pause(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting && s.next.After(now) {
		return s.next.Sub(now)
	}
	s.waiting = false
	return 0
}

// probe allows the next probe at once: there is reason to think that the connector answers.
func (s *silence) probe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = false
}
