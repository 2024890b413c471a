// Package apipace adapts what is asked of a Kubernetes API server to how well it answers. A Meter counts the calls that came
// too late, for readiness and admission; a Gate lets writers back off together.
package apipace

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// LateAfter is how long a call may take. The writers' own deadlines are 10 s and more.
const LateAfter = 5 * time.Second

const (
	slotLength = 10 * time.Second
	slots      = 6 // a minute
	// fewCalls are too few to judge by.
	fewCalls = 10
	// lateShare is the share of calls, as a divisor, from which an API server counts as slow. A few slow ones are normal:
	// a webhook of one namespace, or a large list.
	lateShare = 5
)

// Recent is what was called in some time.
type Recent struct {
	// Calls counts all calls, Late those that took longer than LateAfter or had no proper answer.
	Calls, Late int
	// Longest is the longest that one took.
	Longest time.Duration
}

// Slow reports whether enough calls are late for users to notice.
func (r Recent) Slow() bool { return r.Calls >= fewCalls && r.Late*lateShare >= r.Calls }

// Share is the share of late calls, 0 to 1.
func (r Recent) Share() float64 {
	if r.Calls == 0 {
		return 0
	}
	return float64(r.Late) / float64(r.Calls)
}

// Err says that the API server is slow; nil if it is not.
func (r Recent) Err() error {
	if !r.Slow() {
		return nil
	}
	return fmt.Errorf("%d of the %d calls to the API server in the last minute took longer than %s or had no answer (the longest took %s): "+
		"it is overloaded, or this machine is; fewer actions are admitted until it keeps up", r.Late, r.Calls, LateAfter, r.Longest.Round(time.Second))
}

// Meter counts calls to an API server. It is safe for concurrent use.
type Meter struct {
	clock clock.Clock

	mu    sync.Mutex
	slots [slots]slot // GUARDED_BY(mu): by their number
}

type slot struct {
	number int64
	Recent
}

// NewMeter returns a meter that has seen nothing.
func NewMeter(clk clock.Clock) *Meter { return &Meter{clock: clk} }

// Observe counts a call that has ended. Unanswered says that it had no answer, or one that asks to come back later.
func (m *Meter) Observe(took time.Duration, unanswered bool) {
	number := m.number()
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.slots[number%slots]
	if s.number != number {
		*s = slot{number: number}
	}
	s.Calls++
	if unanswered || took > LateAfter {
		s.Late++
	}
	s.Longest = max(s.Longest, took)
}

// LastMinute is what was called in the last minute.
func (m *Meter) LastMinute() Recent { return m.since(slots) }

// LastMoments is what was called in the last 10 to 20 s.
func (m *Meter) LastMoments() Recent { return m.since(2) }

// Slow reports whether the API server was late in the last moments.
func (m *Meter) Slow() bool { return m.LastMoments().Slow() }

func (m *Meter) since(count int64) Recent {
	now := m.number()
	m.mu.Lock()
	defer m.mu.Unlock()
	var all Recent
	for i := range m.slots {
		if s := &m.slots[i]; s.number > now-count {
			all.Calls, all.Late, all.Longest = all.Calls+s.Calls, all.Late+s.Late, max(all.Longest, s.Longest)
		}
	}
	return all
}

func (m *Meter) number() int64 { return m.clock.Now().UnixNano() / int64(slotLength) }

// Wrap makes a transport whose calls the meter counts. Watches and logs do not count, as they take as long as they like, nor do
// health checks, whose quick answers would hide slow calls. Nor do calls to a server that is down: that is not slow, and other
// checks find it.
func (m *Meter) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		if lasting(request) || probing(request) {
			return next.RoundTrip(request)
		}
		began := m.clock.Now()
		response, err := next.RoundTrip(request)
		if took := m.clock.Now().Sub(began); err == nil || errors.Is(err, context.DeadlineExceeded) {
			m.Observe(took, unanswered(response, err))
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

// lasting reports whether a request is meant to last.
func lasting(request *http.Request) bool {
	query := request.URL.Query()
	return query.Has("watch") || query.Has("follow") || strings.HasSuffix(request.URL.Path, "/log")
}

// unanswered reports whether a call had no answer, or one that asks to come back later.
func unanswered(response *http.Response, err error) bool {
	if err != nil {
		return !errors.Is(err, context.Canceled)
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// probing reports whether a request is a health check. Nothing else asks for the version.
func probing(request *http.Request) bool { return request.URL.Path == "/version" }
