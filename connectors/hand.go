package connectors

import (
	"context"
	"maps"
	"slices"

	"github.com/flyte-binary/flyte-binary/connectors/store"
)

// hand is what a worker has in hand: the jobs whose steps have begun and are not gathered. It is not safe for concurrent use, except
// ended, which steps send to.
type hand struct {
	places int
	held   map[int64]held // by uid
	ended  chan store.Later
}

// held is a job in hand.
type held struct {
	kind store.Kind
	end  context.CancelFunc // ends its step
}

func newHand(places int) *hand {
	if places == 0 {
		places = defaultConcurrency
	}
	return &hand{places: places, held: map[int64]held{}, ended: make(chan store.Later, places)}
}

// take takes a job, and returns the context of its step.
func (h *hand) take(ctx context.Context, j *store.Job) context.Context {
	ctx, end := context.WithCancel(ctx) //nolint:gosec // gathered calls it, and drop
	h.held[j.UID] = held{j.Kind(), end}
	return ctx
}

func (h *hand) uids() []int64 { return slices.Collect(maps.Keys(h.held)) }

// drop ends looks at jobs that should end: a connector may be slow to say how a job is that it can delete at once. A request for a job
// continues: without its answer, the job has no name.
func (h *hand) drop(stopped []int64) {
	for _, uid := range stopped {
		if h.held[uid].kind == store.Looks {
			h.held[uid].end()
		}
	}
}

// gathered takes the jobs whose steps have ended out of the hand, and returns when to look at them again.
func (h *hand) gathered() (later []store.Later) {
	for {
		select {
		case one := <-h.ended:
			h.held[one.UID].end()
			delete(h.held, one.UID)
			if one.Attempt > 0 {
				later = append(later, one)
			}
		default:
			return later
		}
	}
}

// room is how many more jobs there is room for. No kind takes all places: where a connector does not answer to one, the others get on.
// With probe, there is room for one job in all, to see whether the connector answers.
func (h *hand) room(probe bool) store.Room {
	var r store.Room
	if r.All = h.places - len(h.held); probe {
		r.All = max(0, 1-len(h.held))
	}
	most := h.places - h.places/4
	if h.places > 1 {
		most = min(most, h.places-1)
	}
	for kind := range r.Of {
		r.Of[kind] = most
	}
	for _, one := range h.held {
		r.Of[one.kind] = max(0, r.Of[one.kind]-1)
	}
	return r
}
