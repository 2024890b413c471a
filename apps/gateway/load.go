package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// bounds are the upper ends of the latency buckets; a last bucket has the rest.
var bounds = [...]time.Duration{
	1 * time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
	5 * time.Second, 10 * time.Second, 20 * time.Second, 50 * time.Second,
}

// began is the origin of times within the process, which do not jump with the clock of the machine.
var began = time.Now()

func uptime() time.Duration { return time.Since(began) }

// Results of requests, for metrics.
type result int

const (
	resultOK result = iota
	resultClientError
	resultError
	resultCancelled
	results
)

func (r result) String() string {
	return [...]string{"ok", "client_error", "error", "cancelled"}[r]
}

// resultOf classes a request by its status; 0 means that it got no answer.
func resultOf(status int, cancelled bool) result {
	switch {
	case status >= 500 || (status == 0 && !cancelled):
		return resultError
	case status == 0:
		return resultCancelled
	case status >= 400:
		return resultClientError
	default:
		return resultOK
	}
}

// load counts the requests of an app. Its counters grow forever; reports have the differences.
type load struct {
	results [results]atomic.Uint64
	buckets [len(bounds) + 1]atomic.Uint64
	active  atomic.Bool // it is in the book of active apps

	mu   sync.Mutex
	open int           // GUARDED_BY(mu): in flight or waiting
	busy time.Duration // GUARDED_BY(mu): the time of all requests together, up to since
	at   time.Duration // GUARDED_BY(mu)

	reported counts // by the reporter alone
}

// counts are the counters at one time.
type counts struct {
	at               time.Duration
	requests, errors uint64
	busy             time.Duration
	open             int
	buckets          [len(bounds) + 1]uint64
}

func (l *load) enter() {
	l.mu.Lock()
	l.advance(uptime())
	l.open++
	l.mu.Unlock()
}

func (l *load) leave(r result) {
	l.results[r].Add(1)
	l.mu.Lock()
	l.advance(uptime())
	l.open--
	l.mu.Unlock()
}

// advance adds the time of the open requests. The caller holds mu.
func (l *load) advance(now time.Duration) {
	if now > l.at {
		l.busy += time.Duration(l.open) * (now - l.at)
		l.at = now
	}
}

// answered counts the time to the first byte of an answer.
func (l *load) answered(took time.Duration) {
	i := 0
	for i < len(bounds) && took > bounds[i] {
		i++
	}
	l.buckets[i].Add(1)
}

func (l *load) counts() counts {
	now := uptime()
	c := counts{at: now}
	for r := range l.results {
		c.requests += l.results[r].Load()
	}
	c.errors = l.results[resultError].Load()
	for i := range l.buckets {
		c.buckets[i] = l.buckets[i].Load()
	}
	l.mu.Lock()
	l.advance(now)
	c.busy, c.open = l.busy, l.open
	l.mu.Unlock()
	return c
}

// since is the load between two times.
func (c counts) since(uid string, before counts) *enginev1.AppLoad {
	window := c.at - before.at
	report := &enginev1.AppLoad{
		Uid: uid, Window: durationpb.New(window), Requests: c.requests - before.requests, Errors: c.errors - before.errors,
		Open: uint32(c.open), LatencyBuckets: make([]uint64, len(c.buckets)), //nolint:gosec // a count
	}
	if window > 0 {
		report.Concurrency = float64(c.busy-before.busy) / float64(window)
	}
	for i := range c.buckets {
		report.LatencyBuckets[i] = c.buckets[i] - before.buckets[i]
	}
	return report
}
