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
	places  int
	held    map[int64]held // by uid
	ended   chan store.Later
	looking chan struct{} // has an entry for each look that has a place
}

// lookahead is how many more looks a worker has in hand than have a place, for each place of theirs. Connectors answer in milliseconds,
// so a worker would otherwise wait for the database most of the time, and longer on a busy machine.
const lookahead = 3

// held is a job in hand.
type held struct {
	kind store.Kind
	end  context.CancelFunc // ends its step
}

func newHand(places int) *hand {
	if places == 0 {
		places = defaultConcurrency
	}
	h := &hand{places: places, held: map[int64]held{}}
	h.looking = make(chan struct{}, h.most())
	h.ended = make(chan store.Later, places+lookahead*h.most())
	return h
}

// most is how many places one kind may take.
func (h *hand) most() int {
	most := h.places - h.places/4
	if h.places > 1 {
		most = min(most, h.places-1)
	}
	return most
}

// take takes a job, and returns the context of its step.
func (h *hand) take(ctx context.Context, j *store.Job) context.Context {
	ctx, end := context.WithCancel(ctx) //nolint:gosec // gathered calls it, and drop
	h.held[j.UID] = held{j.Kind(), end}
	return ctx
}

// place waits until a job has a place: a look may come after those in hand. It returns false if the connector is not asked about the job
// now. The caller calls leave in the end.
func (h *hand) place(ctx context.Context, j *store.Job, silent func() bool) (leave func(), ok bool) {
	if j.Kind() != store.Looks {
		return func() {}, true
	}
	leave = func() { <-h.looking }
	select {
	case h.looking <- struct{}{}:
		return leave, true
	default:
	}
	select {
	case h.looking <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	if ctx.Err() != nil || silent() { // meanwhile, the connector may have gone away
		leave()
		return nil, false
	}
	return leave, true
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
	var count [store.Kinds]int
	for _, one := range h.held {
		count[one.kind]++
	}
	most := h.most()
	r.All = h.places - count[store.Deletes] - count[store.Starts] - min(count[store.Looks], most)
	for kind := range r.Of {
		r.Of[kind] = max(0, most-count[kind])
	}
	if most < h.places { // else looks that wait would keep the only place from the other kinds
		r.Ahead = lookahead*most - max(0, count[store.Looks]-most)
	}
	if probe {
		r.All, r.Ahead = max(0, 1-len(h.held)), 0
	}
	return r
}
