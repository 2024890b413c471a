package connectors

import (
	"context"
	"sync"
	"time"

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
	// silence is how long the connector was not reached.
	silence *silence
}

// work works off the jobs that are due. It has a goroutine for each job in hand, and none for a job that is not due.
func (w *worker) work(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer calls.Wait()
	defer cancel() // if the database fails, the calls of this round end with it
	h := newHand(w.remote.Concurrency)
	for {
		later := h.gathered()
		if len(later) > 0 {
			if err := w.store.Defer(ctx, later); err != nil {
				return err // the jobs are still due
			}
		}
		next := w.silence.pause(w.deps.Clock.Now())
		if next == 0 {
			due, stopped, soon, err := w.store.Due(ctx, w.remote.Name, h.uids(), w.remote.MaxJobs, h.room(w.silence.tripped()))
			if err != nil {
				return err
			}
			h.drop(stopped)
			for i := range due {
				stepping := h.take(ctx, &due[i])
				calls.Go(func() { h.ended <- w.placed(stepping, h, &due[i]) })
			}
			next = soon
		}
		if !w.await(ctx, next, h) {
			return nil
		}
	}
}

// await waits until there may be something to do, and reports whether the context continues. next is how long it is until a job is due; 0 if
// none will be.
func (w *worker) await(ctx context.Context, next time.Duration, h *hand) bool {
	pause := w.config.Poll
	if next > 0 {
		pause = min(pause, next)
	}
	timer := w.deps.Clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case one := <-h.ended:
		h.ended <- one // there is room: its step has left
	case <-w.wake:
		w.silence.probe()
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

// placed does a step once the job has a place. Otherwise the job stays due.
func (w *worker) placed(ctx context.Context, h *hand, j *store.Job) store.Later {
	leave, ok := h.place(ctx, j, w.silence.tripped)
	if !ok {
		return store.Later{UID: j.UID}
	}
	defer leave()
	return w.step(ctx, j)
}

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
