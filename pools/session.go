package pools

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/types/known/durationpb"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// attemptKey names an attempt.
type attemptKey struct {
	uid     int64
	attempt uint32
}

func keyOf(id *workerv1.AttemptId) attemptKey { return attemptKey{id.GetUid(), id.GetAttempt()} }

// session is one stream of a worker. Its loop is the only one that sends, and compares again and again what the worker has with
// what the database says: what a crash of either side left half done, the next session completes.
type session struct {
	*handler
	ctx    context.Context //nolint:containedctx // that of the stream
	stream *connect.BidiStream[workerv1.WorkRequest, workerv1.WorkResponse]
	id     string       // of the session
	worker store.Worker // of the loop alone

	claimant store.Claimant
	held     map[attemptKey]*attempt // what the worker has, by the database
	reported map[attemptKey]bool     // what the worker says that it has, at the beginning
	results  chan result
	changes  *sessionSubscription
	work     sync.WaitGroup
	drained  bool

	slots     uint32      // as the worker said last
	renewedAt time.Time   // when the renewal of the lease began
	due       clock.Timer // when the lease is to be renewed
	isDue     bool
	renewed   int // how often
}

// result is the outcome of the work on an attempt outside the loop.
type result struct {
	attempt *attempt
	// assignment is to be sent.
	assignment *workerv1.Assignment
	// stop says that the worker is to stop it.
	stop bool
	// over says that the worker no longer has the attempt.
	over bool
	// claimed is what it has instead.
	claimed []store.Action
}

// renewals is how often a lease is renewed in the time that it lasts. A worker is promised what is left of it between two of them.
const renewals = 6

// Work implements workerv1connect.WorkerServiceHandler.
func (h *handler) Work(ctx context.Context, stream *connect.BidiStream[workerv1.WorkRequest, workerv1.WorkResponse]) error {
	first, err := stream.Receive()
	if err != nil {
		return ended(err)
	}
	hello := first.GetHello()
	if hello == nil {
		return rpc.InvalidArgument("message", "the first message of a session must be hello")
	}
	if caller := authz.IdentityFrom(ctx); caller.Kind != authz.Worker || caller.Subject != hello.GetWorkerId() {
		return rpc.NotFound("the token is not that of worker %s", hello.GetWorkerId())
	}
	s := &session{
		handler: h, stream: stream, id: rand.Text(), held: map[attemptKey]*attempt{}, reported: map[attemptKey]bool{}, results: make(chan result),
	}
	s.slots, s.renewedAt = hello.GetState().GetSlots(), h.deps.Clock.Now()
	s.worker, err = h.store.Open(ctx, hello.GetWorkerId(), hello.GetIncarnation(), hello.GetVersion(), s.id, s.slots, h.config.Lease)
	if err != nil {
		return err
	}
	s.claimant = store.Claimant{Pool: s.worker.Pool, Worker: s.worker.ID, Session: s.id}
	s.due = h.deps.Clock.NewTimer(h.config.Lease / renewals)
	defer s.due.Stop()
	ctx = zerolog.Ctx(ctx).With().Str("worker", s.worker.ID).Logger().WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	s.ctx = ctx
	// Deferred calls run last to first: the attempts are no longer followed when the session returns.
	defer s.work.Wait()
	defer cancel()
	return s.run(hello.GetState())
}

// ended is the error of a stream that the worker has ended.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// run is the loop of a session.
func (s *session) run(state *workerv1.Heartbeat) error {
	s.changes = s.hub.join(s.worker.Pool, s.worker.ID) // before the first look, so that no change is missed
	defer s.changes.close()
	beats, failed := make(chan *workerv1.Heartbeat), make(chan error, 1)
	go s.receive(beats, failed) // it ends when this handler has returned
	for _, one := range state.GetRunning() {
		s.reported[keyOf(one.GetId())] = true
	}
	for _, one := range state.GetEnded() {
		s.reported[keyOf(one.GetId())] = true
	}
	if err := s.lease(s.config.Lease); err != nil {
		return err
	}
	if err := s.wake(true, true); err != nil {
		return err
	}
	if err := s.heard(state); err != nil {
		return err
	}
	for {
		var err error
		select {
		case state = <-beats:
			if err = s.renew(state); err == nil {
				err = s.heard(state)
			}
		case <-s.due.C():
			s.isDue = true
		case <-s.changes.ready:
			err = s.wake(s.changes.told())
		case r := <-s.results:
			err = s.apply(r)
		case err = <-failed:
			if err == nil {
				return s.left(state)
			}
		case <-s.ctx.Done():
			return context.Cause(s.ctx)
		}
		if err != nil {
			return err
		}
	}
}

// renew answers a heartbeat with a lease. It is written to the database when one is due, or brings news of slots: by a timer, which does
// not run while the machine sleeps, and by the time of day, which may jump. Others get what is left for sure.
func (s *session) renew(state *workerv1.Heartbeat) error {
	now, every := s.deps.Clock.Now(), s.config.Lease/renewals
	since := now.Sub(s.renewedAt)
	if !s.isDue && since >= 0 && since < every && state.GetSlots() == s.slots {
		return s.lease(s.config.Lease - every)
	}
	if err := s.store.Renew(s.ctx, s.worker.ID, s.id, state.GetSlots(), s.config.Lease); err != nil {
		return err
	}
	s.due.Stop()
	s.due.Reset(every)
	s.isDue, s.renewedAt = false, now
	if err := s.lease(s.config.Lease); err != nil {
		return err
	}
	s.renewed++
	if state.GetSlots() == s.slots && s.renewed%renewals != 0 { // now and then it looks for what no one told it
		return nil
	}
	s.slots = state.GetSlots()
	return s.wake(true, true)
}

func (s *session) lease(lasts time.Duration) error {
	return s.stream.Send(&workerv1.WorkResponse{Message: &workerv1.WorkResponse_Lease{Lease: &workerv1.Lease{Lasts: durationpb.New(lasts)}}})
}

// receive reads what the worker says, until the stream ends.
func (s *session) receive(beats chan<- *workerv1.Heartbeat, failed chan<- error) {
	for {
		m, err := s.stream.Receive()
		if err != nil {
			failed <- ended(err)
			return
		}
		beat := m.GetHeartbeat()
		if beat == nil {
			failed <- rpc.InvalidArgument("message", "hello must be sent only once per session")
			return
		}
		select {
		case beats <- beat:
		case <-s.ctx.Done():
			return
		}
	}
}

// left ends the session of a worker that has closed it. One that takes nothing more and has nothing left has ended.
func (s *session) left(state *workerv1.Heartbeat) error {
	if state.GetSlots() == 0 && len(state.GetRunning()) == 0 && len(s.held) == 0 {
		return s.store.End(context.WithoutCancel(s.ctx), s.worker.ID, "it has ended")
	}
	return nil
}

// heard acts on the state of the worker.
func (s *session) heard(state *workerv1.Heartbeat) error {
	for _, running := range state.GetRunning() {
		if held := s.held[keyOf(running.GetId())]; held == nil {
			if err := s.stop(running.GetId(), 0); err != nil {
				return err
			}
		} else if running.GetStartedAt() != nil {
			s.begin(held, running.GetStartedAt().AsTime(), store.Start{Warm: running.GetWarm(), Slow: running.GetSlowStart()})
		}
	}
	var known []*workerv1.AttemptId
	for _, end := range state.GetEnded() {
		if held := s.held[keyOf(end.GetId())]; held == nil {
			known = append(known, end.GetId())
		} else {
			if end.GetStartedAt() != nil {
				s.begin(held, end.GetStartedAt().AsTime(), store.Start{Warm: end.GetWarm(), Slow: end.GetSlowStart()})
			}
			held.finish(end)
		}
	}
	return s.acknowledge(known...)
}

// begin notes that the process of an attempt has begun. One that the worker had before this session was counted then.
func (s *session) begin(a *attempt, at time.Time, start store.Start) {
	if a.begin(at, start) && !s.reported[attemptKey{a.row.UID, uint32(a.row.Attempt)}] { //nolint:gosec // from 1
		s.meters.begun(s.ctx, start)
	}
}

// wake looks at what the worker has, and claims what it may get.
func (s *session) wake(look, work bool) error {
	if look {
		if err := s.look(); err != nil {
			return err
		}
		work = true // it may take more, or other work, than before
	}
	if work && s.free() > 0 {
		claimed, err := s.writer.Claim(s.ctx, s.claimant)
		if err != nil {
			return err
		}
		s.adopt(claimed)
	}
	s.changes.has(s.worker.Pool, s.free(), s.worker.Reserve, work)
	return nil
}

// free is how many attempts the worker may get.
func (s *session) free() int {
	if s.worker.State != store.Live {
		return 0
	}
	return s.worker.Slots - len(s.held)
}

// look reads what the worker has, and sends it what it does not know.
func (s *session) look() error {
	worker, held, err := s.store.Held(s.ctx, s.worker.ID, s.id)
	if err != nil {
		return err
	}
	s.worker = worker
	now := map[attemptKey]bool{}
	for i := range held {
		now[attemptKey{held[i].UID, uint32(held[i].Attempt)}] = true //nolint:gosec // from 1
	}
	for key, a := range s.held {
		if !now[key] {
			a.forget()
			delete(s.held, key)
		}
	}
	for i := range held {
		a := s.adopt(held[i : i+1])
		if held[i].Stop != store.NoStop && a.setStop(held[i].Stop) && !a.isOver() {
			if err := s.stop(idOf(&held[i]), s.config.Grace); err != nil {
				return err
			}
		}
	}
	if s.worker.State == store.Draining && !s.drained {
		s.drained = true
		return s.stream.Send(&workerv1.WorkResponse{Message: &workerv1.WorkResponse_Drain{Drain: &workerv1.Drain{Reason: "the pool needs fewer workers"}}})
	}
	return nil
}

// adopt begins to follow attempts that the worker has got, and returns the last of them.
func (s *session) adopt(got []store.Action) (last *attempt) {
	for i := range got {
		key := attemptKey{got[i].UID, uint32(got[i].Attempt)} //nolint:gosec // from 1
		if last = s.held[key]; last != nil {
			continue
		}
		a := newAttempt(got[i])
		s.held[key], last = a, a
		send := !s.reported[key]
		if send {
			s.meters.claimed(s.ctx, &got[i])
		}
		s.work.Go(func() { s.follow(a, send) })
	}
	return last
}

// apply sends what came of the work on an attempt. What ended has made room for what was claimed.
func (s *session) apply(r result) error {
	if r.assignment != nil {
		if r.attempt.stopped() { // it was asked to stop what it did not have
			r.attempt.finish(&workerv1.Ended{End: workerv1.End_END_STOPPED})
			return nil
		}
		return s.stream.Send(&workerv1.WorkResponse{Message: &workerv1.WorkResponse_Assignment{Assignment: r.assignment}})
	}
	if r.stop {
		return s.stop(idOf(&r.attempt.row), s.config.Grace)
	}
	if !r.over {
		return nil
	}
	key := attemptKey{r.attempt.row.UID, uint32(r.attempt.row.Attempt)} //nolint:gosec // from 1
	if s.held[key] == r.attempt {
		r.attempt.forget()
		delete(s.held, key)
	}
	s.known.Remove(key.uid)
	s.adopt(r.claimed)
	s.changes.has(s.worker.Pool, s.free(), s.worker.Reserve, false)
	return s.acknowledge(idOf(&r.attempt.row))
}

func (s *session) stop(id *workerv1.AttemptId, grace time.Duration) error {
	return s.stream.Send(&workerv1.WorkResponse{Message: &workerv1.WorkResponse_Stop{Stop: &workerv1.Stop{Id: id, Grace: durationpb.New(grace)}}})
}

func (s *session) acknowledge(ids ...*workerv1.AttemptId) error {
	if len(ids) == 0 {
		return nil
	}
	return s.stream.Send(&workerv1.WorkResponse{Message: &workerv1.WorkResponse_Acknowledged{Acknowledged: &workerv1.Acknowledged{Ids: ids}}})
}
