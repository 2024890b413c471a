package workers

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/backoff"
	"github.com/flyte-binary/flyte-binary/workers/store"
)

const (
	retryFirst = 100 * time.Millisecond
	retryLast  = 10 * time.Second
)

// attempt is one that the worker of a session has. The loop says what happens to it; follow, beside the loop, records it.
type attempt struct {
	row store.Action // as it was claimed

	mu      sync.Mutex
	stop    store.Stop      // GUARDED_BY(mu)
	begun   chan struct{}   // closed when the process has begun
	ended   chan struct{}   // closed when the process has ended
	gone    chan struct{}   // closed when somebody else has the attempt
	beganAt time.Time       // GUARDED_BY(mu)
	warm    bool            // GUARDED_BY(mu)
	end     *workerv1.Ended // GUARDED_BY(mu)
}

func newAttempt(row store.Action) *attempt {
	return &attempt{row: row, begun: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{})}
}

// begin notes that the process has begun; the first time counts.
func (a *attempt) begin(at time.Time, warm bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.beganAt.IsZero() {
		a.beganAt, a.warm = at, warm
		close(a.begun)
	}
}

// finish notes how the process has ended; the first time counts.
func (a *attempt) finish(end *workerv1.Ended) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.end = end
		close(a.ended)
	}
}

// setStop notes why the attempt should end, and reports whether that is news.
func (a *attempt) setStop(stop store.Stop) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	news := a.stop != stop
	a.stop = stop
	return news
}

func (a *attempt) forget() { close(a.gone) }

// isOver reports whether the process has ended.
func (a *attempt) isOver() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.end != nil
}

// stopped reports whether the attempt should end.
func (a *attempt) stopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stop != store.NoStop
}

// current is the row with what is known since.
func (a *attempt) current() store.Action {
	a.mu.Lock()
	defer a.mu.Unlock()
	row := a.row
	row.Stop = a.stop
	if !a.beganAt.IsZero() {
		at := a.beganAt
		row.BegunAt, row.Warm = &at, a.warm
	}
	return row
}

// follow has an attempt begin, and records its life to the end: QUEUED, INITIALIZING, RUNNING, and what follows. It repeats
// what fails until the session ends; the next one begins again, and what was recorded already changes nothing.
func (s *session) follow(a *attempt, send bool) {
	retries := backoff.New(retryFirst, retryLast)
	for {
		err := s.once(a, send)
		if err == nil || s.ctx.Err() != nil {
			return
		}
		zerolog.Ctx(s.ctx).Warn().Err(err).Stringer("action", a.row.Action).Msg("an attempt of a worker cannot be recorded; retrying")
		select {
		case <-a.gone:
			return
		default:
		}
		if retries.Wait(s.ctx, s.deps.Clock) != nil {
			return
		}
	}
}

// once is follow without repetition.
func (s *session) once(a *attempt, send bool) error {
	assigned, err := s.assignment(s.ctx, a.row.UID)
	if err != nil {
		return err
	}
	if assigned == nil { // the action has ended; what the worker has of it is being stopped
		if !send && !a.await(s, a.ended) {
			return nil
		}
		return s.over(a, s.store.Done(s.ctx, &a.row))
	}
	if send {
		if err := s.start(a, assigned); err != nil {
			if lost := failure.Of(err); lost != nil {
				row := a.current()
				return s.over(a, s.handler.end(s.ctx, &row, lost, s.deps.Clock.Now()))
			}
			return err
		}
	}
	select {
	case <-a.begun:
		if err := s.began(a, assigned); err != nil {
			return err
		}
	case <-a.ended:
	case <-a.gone:
		return nil
	case <-s.ctx.Done():
		return nil
	}
	if !a.await(s, a.ended) {
		return nil
	}
	row := a.current()
	return s.over(a, s.handler.end(s.ctx, &row, lostBy(a.end, assigned.GetTask().GetSpec().GetTaskTemplate()), a.end.GetEndedAt().AsTime()))
}

// start records that the attempt is prepared and hands it over. An attempt of an action that has ended is not handed over.
func (s *session) start(a *attempt, assigned *enginev1.Assignment) error {
	message, err := s.message(s.ctx, &a.row, assigned)
	if err != nil {
		return err
	}
	event := s.event(&a.row, assigned, common.ActionPhase_ACTION_PHASE_INITIALIZING, s.deps.Clock.Now())
	over, err := s.record(s.ctx, &enginev1.Transition{Event: event})
	if err != nil {
		return err
	}
	if over {
		return failure.New(failure.WorkerLost, "the action has ended")
	}
	return s.tell(result{attempt: a, assignment: message})
}

// began records the start of the process, unless its end is known by now: then both are recorded at once.
func (s *session) began(a *attempt, assigned *enginev1.Assignment) error {
	row := a.current()
	limit := assigned.GetTask().GetSpec().GetTaskTemplate().GetMetadata().GetTimeout().AsDuration()
	select {
	case <-a.ended:
		return nil
	default:
	}
	if err := s.store.Begun(s.ctx, &row, *row.BegunAt, row.Warm, limit); err != nil {
		return err
	}
	_, err := s.record(s.ctx, s.missedStart(&row, assigned)...)
	return err
}

// over tells the loop that the worker has the attempt no more.
func (s *session) over(a *attempt, err error) error {
	if err != nil {
		return err
	}
	return s.tell(result{attempt: a, over: true})
}

// await waits for something, and reports whether it came before the end of the session and of the attempt.
func (a *attempt) await(s *session, what <-chan struct{}) bool {
	select {
	case <-what:
		return true
	case <-a.gone:
	case <-s.ctx.Done():
	}
	return false
}

func (s *session) tell(r result) error {
	select {
	case s.results <- r:
	case <-s.ctx.Done():
	}
	return nil
}
