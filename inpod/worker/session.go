package worker

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

const (
	// remembered is how many acknowledged attempts are known, so that they are not run again. An assignment is
	// repeated soon, if at all, not thousands of attempts later.
	remembered = 4096
	// silence is how long a stream may be silent before the first lease.
	silence = 10 * time.Second
	// margin is the part of a lease that is kept for ending all work: one fifth, and at most maxMargin. Killing
	// processes takes time, and when the lease is over another worker may have the same attempts.
	margin    = 5
	maxMargin = 3 * time.Second
)

// id is a workerv1.AttemptId that can be compared.
type id struct {
	uid     int64
	attempt uint32
}

func idOf(a *workerv1.AttemptId) id { return id{a.GetUid(), a.GetAttempt()} }

func (i id) proto() *workerv1.AttemptId { return &workerv1.AttemptId{Uid: i.uid, Attempt: i.attempt} }

// decision is what a message of the server asks the worker to do. One field is set.
type decision struct {
	start *workerv1.Assignment
	stop  *workerv1.Stop
	drain string // the reason
}

// session is what a worker has promised to its server, and what it may do. It has no clock, no stream and no processes: times
// are those of a clock that never goes back, from any beginning. It is not safe for concurrent use.
type session struct {
	worker, incarnation, version string

	slots    uint32
	draining bool
	running  map[id]*workerv1.Running
	ended    map[id]*workerv1.Ended
	done     []id // acknowledged, oldest first
	known    map[id]struct{}

	fresh  bool            // the stream has had no message yet
	sent   []time.Duration // of the messages of this stream that have no answer yet
	lasts  time.Duration   // of the newest lease
	expiry time.Duration   // when all work must begin to end
	ends   time.Duration   // the end of the lease, after which others may have the work
	leased bool            // there is a lease
}

// newSession returns the session of a worker that has no lease. incarnation tells the server this process from an
// earlier one with the same id.
func newSession(worker, incarnation, version string, slots uint32) *session {
	return &session{
		worker: worker, incarnation: incarnation, version: version, slots: slots,
		running: map[id]*workerv1.Running{}, ended: map[id]*workerv1.Ended{}, known: map[id]struct{}{},
	}
}

// connect begins a stream. The lease of the one before continues.
func (s *session) connect() { s.fresh, s.sent = true, nil }

// message is the next message to send: now must be before it is sent.
func (s *session) message(now time.Duration) *workerv1.WorkRequest {
	s.sent = append(s.sent, now)
	state := s.state()
	if !s.fresh {
		return &workerv1.WorkRequest{Message: &workerv1.WorkRequest_Heartbeat{Heartbeat: state}}
	}
	s.fresh = false
	return &workerv1.WorkRequest{Message: &workerv1.WorkRequest_Hello{Hello: &workerv1.Hello{
		WorkerId: s.worker, Incarnation: s.incarnation, Version: s.version, State: state,
	}}}
}

// state is everything that the server should know: each message repeats it, so that a lost message or a new stream
// loses nothing. A draining worker offers no slots.
func (s *session) state() *workerv1.Heartbeat {
	state := &workerv1.Heartbeat{Slots: s.slots}
	if s.draining {
		state.Slots = 0
	}
	for _, one := range sorted(s.running) {
		state.Running = append(state.Running, proto.CloneOf(s.running[one]))
	}
	for _, one := range sorted(s.ended) {
		state.Ended = append(state.Ended, s.ended[one])
	}
	return state
}

// sorted are the keys in a fixed order, so that equal states make equal messages.
func sorted[V any](all map[id]V) []id {
	return slices.SortedFunc(maps.Keys(all), func(a, b id) int {
		if a.uid != b.uid {
			return int(max(-1, min(1, a.uid-b.uid)))
		}
		return int(a.attempt) - int(b.attempt)
	})
}

// receive takes a message of the server. changed means that the server must be notified at once.
func (s *session) receive(now time.Duration, m *workerv1.WorkResponse) (d decision, changed bool) {
	switch message := m.GetMessage().(type) {
	case *workerv1.WorkResponse_Lease:
		s.renew(message.Lease.GetLasts().AsDuration())
	case *workerv1.WorkResponse_Assignment:
		return s.assign(now, message.Assignment)
	case *workerv1.WorkResponse_Stop:
		if s.running[idOf(message.Stop.GetId())] != nil {
			return decision{stop: message.Stop}, false
		}
	case *workerv1.WorkResponse_Drain:
		changed = !s.draining
		s.draining = true
		return decision{drain: message.Drain.GetReason()}, changed
	case *workerv1.WorkResponse_Acknowledged:
		for _, one := range message.Acknowledged.GetIds() {
			s.acknowledge(idOf(one))
		}
	}
	return decision{}, false
}

// renew counts the lease from the oldest message without an answer: answers come in the order of the messages. That is
// earlier than the server's own count, so the worker always gives up first.
func (s *session) renew(lasts time.Duration) {
	if len(s.sent) == 0 || lasts <= 0 {
		return
	}
	from := s.sent[0]
	s.sent = s.sent[1:]
	s.lasts = lasts
	if until := from + lasts - min(lasts/margin, maxMargin); !s.leased || until > s.expiry {
		s.expiry, s.ends, s.leased = until, from+lasts, true
	}
}

// assign accepts an attempt or refuses it as lost. A refusal is reported like an end, so that the server places the
// attempt elsewhere at once.
func (s *session) assign(now time.Duration, a *workerv1.Assignment) (decision, bool) {
	one := idOf(a.GetId())
	if _, seen := s.known[one]; seen {
		return decision{}, false
	}
	s.known[one] = struct{}{}
	refuse := ""
	switch {
	case !s.valid(now):
		refuse = "the worker has no lease"
	case s.draining:
		refuse = "the worker takes no more attempts"
	case len(s.running) >= int(s.slots):
		refuse = "the worker has no free slot"
	}
	if refuse != "" {
		s.ended[one] = &workerv1.Ended{Id: one.proto(), End: workerv1.End_END_LOST, Message: refuse}
		return decision{}, true
	}
	s.running[one] = &workerv1.Running{Id: one.proto()}
	return decision{start: a}, true
}

// began records that the process of an attempt runs.
func (s *session) began(r *workerv1.Running) {
	if one := idOf(r.GetId()); s.running[one] != nil {
		s.running[one] = r
	}
}

// finish records that the process of an attempt is gone.
func (s *session) finish(e *workerv1.Ended) {
	one := idOf(e.GetId())
	if s.running[one] == nil {
		return
	}
	delete(s.running, one)
	s.ended[one] = e
}

// acknowledge drops the report of an end that the server has stored. Until then each message has it.
func (s *session) acknowledge(one id) {
	if s.ended[one] == nil {
		return
	}
	delete(s.ended, one)
	s.done = append(s.done, one)
	if len(s.done) > remembered {
		delete(s.known, s.done[0])
		s.done = s.done[1:]
	}
}

// valid reports whether the worker may have work.
func (s *session) valid(now time.Duration) bool { return s.leased && now < s.expiry }

// lapse ends a lease that is over. It reports true once for each: all work must end.
func (s *session) lapse(now time.Duration) bool {
	if !s.leased || now < s.expiry {
		return false
	}
	s.leased = false
	return true
}

// interval is how often the worker must send a heartbeat: three in the time of a lease, so that one may be lost.
func (s *session) interval() time.Duration {
	if s.lasts == 0 {
		return time.Second
	}
	return s.lasts * 3 / 10
}

// silent reports whether the stream is to be given up, because the server does not answer. A third of the lease leaves
// time for a new stream before the lease is over.
func (s *session) silent(now time.Duration) bool {
	limit := silence
	if s.lasts > 0 {
		limit = min(limit, s.lasts/3)
	}
	return len(s.sent) > 0 && now-s.sent[0] > limit
}

// over reports whether a worker that takes no more has nothing left to do or to report.
func (s *session) over() bool { return s.draining && len(s.running) == 0 && len(s.ended) == 0 }
