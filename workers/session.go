package workers

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"google.golang.org/protobuf/types/known/durationpb"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/workers/store"
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
	id     string // of the session
	worker store.Worker

	held     map[attemptKey]*attempt // what the worker has, by the database
	reported map[attemptKey]bool     // what the worker says that it has, at the beginning
	results  chan result
	work     sync.WaitGroup
	drained  bool
}

// result is what became of the work on an attempt beside the loop.
type result struct {
	attempt *attempt
	// assignment is to be sent.
	assignment *workerv1.Assignment
	// over says that the worker has the attempt no more.
	over bool
}

// Work implements workerv1connect.WorkerServiceHandler.
func (h *handler) Work(ctx context.Context, stream *connect.BidiStream[workerv1.WorkRequest, workerv1.WorkResponse]) error {
	first, err := stream.Receive()
	if err != nil {
		return ended(err)
	}
	hello := first.GetHello()
	if hello == nil {
		return rpc.InvalidArgument("message", "the first message of a session is hello")
	}
	token, ok := strings.CutPrefix(stream.RequestHeader().Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return rpc.Unauthenticated("a worker needs the bearer token that it was started with")
	}
	s := &session{
		handler: h, stream: stream, id: rand.Text(), held: map[attemptKey]*attempt{}, reported: map[attemptKey]bool{}, results: make(chan result),
	}
	hash := sha256.Sum256([]byte(token))
	s.worker, err = h.store.Open(ctx, hello.GetWorkerId(), hash[:], hello.GetIncarnation(), hello.GetVersion(), s.id, hello.GetState().GetSlots(), h.config.Lease)
	if err != nil {
		return err
	}
	ctx = zerolog.Ctx(ctx).With().Str("worker", s.worker.ID).Logger().WithContext(ctx)
	ctx, cancel := context.WithCancel(ctx)
	s.ctx = ctx
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
	changes := s.hub.subscribe(store.ForSessions, s.worker.Pool)
	defer changes.close()
	beats, failed := make(chan *workerv1.Heartbeat), make(chan error, 1)
	go s.receive(beats, failed) // it ends when this handler has returned
	for _, one := range state.GetRunning() {
		s.reported[keyOf(one.GetId())] = true
	}
	for _, one := range state.GetEnded() {
		s.reported[keyOf(one.GetId())] = true
	}
	if err := s.heard(state); err != nil {
		return err
	}
	for {
		var err error
		select {
		case state = <-beats:
			if err = s.store.Renew(s.ctx, s.worker.ID, s.id, state.GetSlots(), s.config.Lease); err == nil {
				err = s.heard(state)
			}
		case <-changes.ready:
			err = s.compare()
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
			failed <- rpc.InvalidArgument("message", "a session has one hello")
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

// heard acts on the state of the worker, whose lease has just been renewed.
func (s *session) heard(state *workerv1.Heartbeat) error {
	lease := &workerv1.WorkResponse{Message: &workerv1.WorkResponse_Lease{Lease: &workerv1.Lease{Lasts: durationpb.New(s.config.Lease)}}}
	if err := s.stream.Send(lease); err != nil {
		return err
	}
	if err := s.compare(); err != nil {
		return err
	}
	for _, running := range state.GetRunning() {
		if held := s.held[keyOf(running.GetId())]; held == nil {
			if err := s.stop(running.GetId(), 0); err != nil {
				return err
			}
		} else if running.GetStartedAt() != nil {
			held.begin(running.GetStartedAt().AsTime(), running.GetWarm())
		}
	}
	var known []*workerv1.AttemptId
	for _, end := range state.GetEnded() {
		if held := s.held[keyOf(end.GetId())]; held == nil {
			known = append(known, end.GetId())
		} else {
			if end.GetStartedAt() != nil {
				held.begin(end.GetStartedAt().AsTime(), end.GetWarm())
			}
			held.finish(end)
		}
	}
	return s.acknowledge(known...)
}

// compare reads what the worker has and may get, and sends it what it does not know.
func (s *session) compare() error {
	worker, held, err := s.store.Claim(s.ctx, s.worker.ID, s.id)
	if err != nil {
		return err
	}
	s.worker = worker
	now := map[attemptKey]bool{}
	for i := range held {
		key := attemptKey{held[i].UID, uint32(held[i].Attempt)} //nolint:gosec // from 1
		now[key] = true
		a := s.held[key]
		if a == nil {
			a = newAttempt(held[i])
			s.held[key] = a
			send := !s.reported[key]
			s.work.Go(func() { s.follow(a, send) })
		}
		if held[i].Stop != store.NoStop && a.setStop(held[i].Stop) && !a.isOver() {
			if err := s.stop(idOf(&held[i]), s.config.Grace); err != nil {
				return err
			}
		}
	}
	for key, a := range s.held {
		if !now[key] {
			a.forget()
			delete(s.held, key)
		}
	}
	if s.worker.State == store.Draining && !s.drained {
		s.drained = true
		return s.stream.Send(&workerv1.WorkResponse{Message: &workerv1.WorkResponse_Drain{Drain: &workerv1.Drain{Reason: "the pool needs fewer workers"}}})
	}
	return nil
}

// apply sends what came of the work on an attempt. What ended makes room for more.
func (s *session) apply(r result) error {
	if r.assignment != nil {
		if r.attempt.stopped() { // it was told to stop what it did not have
			r.attempt.finish(&workerv1.Ended{End: workerv1.End_END_STOPPED})
			return nil
		}
		return s.stream.Send(&workerv1.WorkResponse{Message: &workerv1.WorkResponse_Assignment{Assignment: r.assignment}})
	}
	if !r.over {
		return nil
	}
	if err := s.acknowledge(idOf(&r.attempt.row)); err != nil {
		return err
	}
	return s.compare()
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
