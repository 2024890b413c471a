package connectors

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// gather is the pause before the list of due jobs is read again, in which jobs become due and calls end.
	gather = 25 * time.Millisecond
	// stepRetry is the longest pause after a step that failed for a reason of this server, such as a database that is away.
	stepRetry = 10 * time.Second
)

// worker calls one connector for all replicas.
type worker struct {
	*registry
	remote *remote
	wake   <-chan struct{}
}

// work works off the jobs that are due. It has a goroutine for each call, and none for a job that is not due.
func (w *worker) work(ctx context.Context) error {
	var calls sync.WaitGroup
	defer calls.Wait()
	places := w.remote.Concurrency
	if places == 0 {
		places = defaultConcurrency
	}
	ended := make(chan store.Later, places)
	hand := map[int64]bool{}
	for {
		later := w.gathered(ended, hand)
		if len(later) > 0 {
			if err := w.store.Defer(ctx, later); err != nil {
				return err // the jobs are still due
			}
		}
		free, next := places-len(hand), time.Duration(0)
		if free > 0 {
			due, soon, err := w.store.Due(ctx, w.remote.Name, slices.Collect(maps.Keys(hand)), w.remote.MaxJobs, free)
			if err != nil {
				return err
			}
			for i := range due {
				hand[due[i].UID] = true
				calls.Go(func() { ended <- w.step(ctx, &due[i]) })
			}
			next = soon
		}
		if !w.await(ctx, next, ended, hand) {
			return nil
		}
	}
}

// gathered takes the jobs whose steps have ended out of the hand, and returns when to look at them again.
func (w *worker) gathered(ended <-chan store.Later, hand map[int64]bool) (later []store.Later) {
	for {
		select {
		case one := <-ended:
			delete(hand, one.UID)
			if one.Attempt > 0 {
				later = append(later, one)
			}
		default:
			return later
		}
	}
}

// await waits until there may be something to do, and reports whether the context continues. next is how long it is until a job is due; 0 if
// none will be.
func (w *worker) await(ctx context.Context, next time.Duration, ended chan store.Later, hand map[int64]bool) bool {
	pause := w.config.Poll
	if next > 0 {
		pause = min(pause, next)
	}
	if len(hand) > 0 { // a step may end meanwhile
		pause = min(pause, max(gather, w.config.MinPoll/4))
	}
	timer := w.deps.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case one := <-ended:
		ended <- one // there is room: its step has left
	case <-w.wake:
	case <-timer.C():
	case <-ctx.Done():
		return false
	}
	return clock.Sleep(ctx, w.deps.Clock, gather) == nil
}

// next says what follows a step: nothing, if the job is gone or the store knows when it is due, or another look.
type next struct {
	nothing  bool
	pause    time.Duration
	failures int
	problem  string
}

// done is what follows the last step of a job.
func done() next { return next{nothing: true} }

// step does what is next for a job. The result has no attempt if there is nothing to defer.
func (w *worker) step(ctx context.Context, j *store.Job) store.Later {
	what, err := w.advance(ctx, j)
	if err != nil {
		if ctx.Err() == nil {
			zerolog.Ctx(ctx).Warn().Err(err).Stringer("action", j.Action).Str("connector", w.remote.Name).Msg("a step of a job failed; retrying")
		}
		what = w.again(j, err)
		what.pause = min(what.pause, stepRetry)
	}
	later := store.Later{UID: j.UID, Stop: j.Stop, Pause: what.pause, Failures: what.failures, Problem: clip.Middle(what.problem, maxProblem)}
	if !what.nothing {
		later.Attempt = j.Attempt
	}
	return later
}

func (w *worker) advance(ctx context.Context, j *store.Job) (next, error) {
	if j.Over && j.Stop == store.NoStop {
		if running, err := w.store.Overrun(ctx, j); err != nil || !running {
			return next{pause: w.config.MinPoll}, err
		}
		j.Stop, j.Failures = store.Overtime, 0
	}
	switch {
	case j.Stop != store.NoStop:
		return w.stop(ctx, j)
	case j.Stage < store.Created:
		return w.begin(ctx, j)
	default:
		return w.look(ctx, j)
	}
}

// assignment returns what is to run for an action; nil if the action is no longer live.
func (s *registry) assignment(ctx context.Context, uid int64) (*enginev1.Assignment, error) {
	if known, ok := s.known.Get(uid); ok {
		return known, nil
	}
	answer, err := s.deps.Engine.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: []int64{uid}})
	if err != nil {
		return nil, err
	}
	for _, a := range answer.GetAssignments() {
		s.known.Add(uid, a)
		return a, nil
	}
	return nil, nil //nolint:nilnil // documented
}

// again is what follows a call that did not reach the connector: that costs time, not attempts. Such calls are counted downwards from 0.
func (w *worker) again(j *store.Job, err error) next {
	n := min(j.Failures, 0) - 1
	return next{pause: backoff.After(w.config.MinPoll, w.config.MaxBackoff, -n), failures: n, problem: said(err)}
}

// refused is what follows a call to which the connector answered with an error. Such calls are counted upwards from 0.
func (w *worker) refused(j *store.Job, err error) next {
	n := max(j.Failures, 0) + 1
	return next{pause: backoff.After(w.config.MinPoll, w.config.MaxBackoff, n), failures: n, problem: said(err)}
}

// pause is how long it is until the next look at a job: a tenth of its age.
func (w *worker) pause(j *store.Job) time.Duration {
	pause := w.config.MinPoll
	if j.BegunAt != nil {
		pause = min(max(pause, w.deps.Clock.Now().Sub(*j.BegunAt)/10), w.config.MaxPoll)
	}
	return backoff.After(pause, pause, 1)
}

// call bounds a call of the connector, and measures it.
func call[Q, A any](ctx context.Context, w *worker, procedure string, do func(context.Context, *Q) (*A, error), request *Q) (*A, error) {
	ctx, cancel := context.WithTimeout(ctx, w.config.CallTimeout)
	defer cancel()
	began := w.deps.Clock.Now()
	answer, err := do(ctx, request)
	code := "ok"
	var told *connect.Error
	if errors.As(err, &told) {
		code = told.Code().String()
	}
	w.meters.called(ctx, w.remote.Name, procedure, code, w.deps.Clock.Now().Sub(began))
	return answer, err
}
