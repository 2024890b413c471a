package tasks

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// believed is how long an answer holds: at most this long after its holder has ended, a token still works.
	believed = 3 * time.Second
	// outage is how long a holder that was live counts as live while no one can tell. Calls that need the database fail on their
	// own; those that do not must not end the process.
	outage = 10 * time.Minute
	// forgotten is how long what is not asked for is kept.
	forgotten = 15 * time.Minute
	// maxKnown bounds the memory; beyond it, everything is read again.
	maxKnown = 200_000
)

// span is the attempts of an action, or the revisions of an app, that may run now. The zero value is none.
type span struct{ first, last uint64 }

func (s span) has(number uint64) bool { return number > 0 && s.first <= number && number <= s.last }

// reader reads what may run now of an action or an app.
type reader func(ctx context.Context, uid string) (span, error)

// lives remembers for a short time what may run. It is safe for concurrent use.
type lives struct {
	read  reader
	clock clock.Clock
	reads singleflight.Group

	mu      sync.Mutex
	known   map[string]life // GUARDED_BY(mu): by uid
	sweptAt time.Time       // GUARDED_BY(mu)
}

// life is what is known of one uid.
type life struct {
	span
	readAt, usedAt time.Time
}

func newLives(read reader, clk clock.Clock) *lives {
	return &lives{read: read, clock: clk, known: map[string]life{}}
}

// live reports whether an attempt or a revision may run now. An error says that no one can tell.
func (l *lives) live(ctx context.Context, uid string, number uint64) (bool, error) {
	before, now := l.recall(uid)
	// A greater number than the last known is one that has begun since.
	if now.Sub(before.readAt) < believed && number <= before.last {
		return before.has(number), nil
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err() //nolint:wrapcheck // the caller has left
	case answer := <-l.reads.DoChan(uid, func() (any, error) {
		// Others wait for the answer too, so it does not end with one caller.
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), believed)
		defer cancel()
		found, err := l.read(limited, uid)
		if err == nil {
			l.remember(uid, found)
		}
		return found, err
	}):
		found, _ := answer.Val.(span)
		switch {
		case answer.Err == nil:
			return found.has(number), nil
		case before.has(number) && now.Sub(before.readAt) < outage:
			return true, nil
		default:
			return false, rpc.Unavailable(answer.Err, "whether the task still runs cannot be checked now; try again")
		}
	}
}

// recall is what is known of a uid.
func (l *lives) recall(uid string) (life, time.Time) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	one, known := l.known[uid]
	if known {
		one.usedAt = now
		l.known[uid] = one
	}
	return one, now
}

func (l *lives) remember(uid string, found span) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.known) > maxKnown {
		clear(l.known)
	}
	if now.Sub(l.sweptAt) > time.Minute {
		l.sweptAt = now
		for other, one := range l.known {
			if now.Sub(one.usedAt) > forgotten {
				delete(l.known, other)
			}
		}
	}
	l.known[uid] = life{found, now, now}
}
