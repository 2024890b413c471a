package pools

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

const (
	retryFirst = 100 * time.Millisecond
	retryLast  = 10 * time.Second
)

// attempt is one that the worker of a session has. The loop says what happens to it; follow, alongside the loop, records it.
type attempt struct {
	row store.Action // as it was claimed

	mu      sync.Mutex
	stop    store.Stop      // GUARDED_BY(mu)
	begun   chan struct{}   // closed when the process has begun
	ended   chan struct{}   // closed when the process has ended
	gone    chan struct{}   // closed when someone else has the attempt
	beganAt time.Time       // GUARDED_BY(mu)
	start   store.Start     // GUARDED_BY(mu)
	end     *workerv1.Ended // GUARDED_BY(mu)
}

func newAttempt(row store.Action) *attempt {
	return &attempt{row: row, begun: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{})}
}

// begin notes that the process has begun, and reports whether that is news; the first time counts.
func (a *attempt) begin(at time.Time, start store.Start) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.beganAt.IsZero() {
		return false
	}
	a.beganAt, a.start = at, start
	close(a.begun)
	return true
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

// hasBegun reports whether the process has begun.
func (a *attempt) hasBegun() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.beganAt.IsZero()
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
		row.BegunAt, row.Start = &at, a.start
	}
	return row
}

// settles is how long an attempt is watched before its start is recorded: that of a short one is recorded together with its end.
const settles = 100 * time.Millisecond

// follow hands an attempt over, and records its life to the end. It repeats what fails until the session ends; the next one
// begins again, and what was recorded already changes nothing.
func (s *session) follow(a *attempt, send bool) {
	retries := backoff.New(retryFirst, retryLast)
	for {
		err := s.once(a, send)
		if err == nil || s.ctx.Err() != nil {
			return
		}
		zerolog.Ctx(s.ctx).Warn().Err(err).Stringer("action", a.row.Action).Msg("recording an attempt failed; retrying")
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
	assigned, err := s.assignment(s.ctx, &a.row)
	if err != nil {
		return err
	}
	if assigned == nil { // the action has ended; what the worker has of it is being stopped
		if !send && !a.await(s, a.ended) {
			return nil
		}
		return s.over(a)(s.writer.Done(s.ctx, &a.row, s.claimant))
	}
	if send {
		message, err := s.message(s.ctx, &a.row, assigned)
		if lost := failure.Of(err); lost != nil {
			row := a.current()
			return s.over(a)(s.handler.end(s.ctx, &row, lost, s.deps.Clock.Now(), s.claimant))
		}
		if err != nil {
			return err
		}
		s.tell(result{attempt: a, assignment: message})
	}
	if err := s.begins(a, assigned); err != nil || !s.awaitEnd(a, assigned) {
		return err
	}
	s.ending.Store(a.row.UID, true)
	defer s.ending.Delete(a.row.UID)
	row := a.current()
	if err := s.recall(a, &row, assigned); err != nil {
		return err
	}
	lost := lostBy(a.end, assigned.GetTask().GetSpec().GetTaskTemplate())
	return s.over(a)(s.handler.end(s.ctx, &row, lost, a.end.GetEndedAt().AsTime(), s.claimant))
}

// begins records that the attempt is prepared, and the start of its process, unless it ends soon.
func (s *session) begins(a *attempt, assigned *enginev1.Assignment) error {
	if a.endsSoon(s) {
		return nil
	}
	if !a.hasBegun() {
		if err := s.record(s.ctx, &enginev1.Transition{
			Event: s.event(&a.row, assigned, common.ActionPhase_ACTION_PHASE_INITIALIZING, s.deps.Clock.Now()),
		}); err != nil {
			return err
		}
		select {
		case <-a.begun:
		case <-a.ended:
		case <-a.gone:
			return nil
		case <-s.ctx.Done():
			return nil
		}
		if a.endsSoon(s) {
			return nil
		}
	}
	row := a.current()
	limit := assigned.GetTask().GetSpec().GetTaskTemplate().GetMetadata().GetTimeout().AsDuration()
	if err := s.writer.Begun(s.ctx, &row, *row.BegunAt, limit); err != nil {
		return err
	}
	return s.record(s.ctx, s.missedStart(&row, assigned, time.Time{})...)
}

// endsSoon waits a moment, and reports whether the attempt or the session has ended.
func (a *attempt) endsSoon(s *session) bool {
	moment := s.deps.Clock.NewTimer(settles)
	defer moment.Stop()
	select {
	case <-moment.C():
		return false
	case <-a.ended:
	case <-a.gone:
	case <-s.ctx.Done():
	}
	return true
}

// over is closed when the worker no longer has the attempt, but another one instead.
func (s *session) over(a *attempt) func(claimed []store.Action, err error) error {
	return func(claimed []store.Action, err error) error {
		if err == nil {
			s.tell(result{attempt: a, over: true, claimed: claimed})
		}
		return err
	}
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

func (s *session) tell(r result) {
	select {
	case s.results <- r:
	case <-s.ctx.Done():
	}
}
