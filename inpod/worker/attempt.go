package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/attempts"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
)

// longestMessage is how long the message of an end may be, in bytes.
const longestMessage = 4096

// longestReason is how long the reason of a slow start may be, in bytes.
const longestReason = 512

// attempt is one attempt from its assignment to its end.
type attempt struct {
	worker     *Worker
	id         id
	assignment *workerv1.Assignment
	preparing  context.Context //nolint:containedctx // canceled when the attempt must end
	abandon    context.CancelCauseFunc

	mu      sync.Mutex
	process process       // GUARDED_BY(mu): nil before the start and after the end
	why     string        // GUARDED_BY(mu): why it must end
	lost    bool          // GUARDED_BY(mu): it must end because of the worker
	over    bool          // GUARDED_BY(mu): the process has ended; nothing changes how
	timers  []*time.Timer // GUARDED_BY(mu)
}

// newAttempt returns an attempt that nothing runs yet. Its context is not the worker's: only end abandons it, with the
// reason.
func newAttempt(w *Worker, a *workerv1.Assignment) *attempt {
	one := &attempt{worker: w, id: idOf(a.GetId()), assignment: a}
	one.preparing, one.abandon = context.WithCancelCause(context.Background())
	return one
}

// run runs the attempt and returns how it ended. Its log is complete then.
func (a *attempt) run() *workerv1.Ended {
	w := a.worker
	ended := &workerv1.Ended{Id: a.id.proto()}
	log, err := openLog(w.store, a.assignment.GetLogUri(), w.cfg.Scratch)
	if err != nil {
		return a.fail(ended, fmt.Errorf("create the log: %w", err))
	}
	following, enough := context.WithCancel(context.Background())
	var follower sync.WaitGroup
	follower.Go(func() { log.follow(following) })
	// Counted before and after: the kernel does not say for which process a kill was, so the difference is all that is
	// known.
	kills := memoryKills()
	p, err := w.runner.start(a.preparing, a.command(), log.pipe)
	log.handedOver()
	if err == nil {
		a.live(p, ended)
		end := p.wait()
		ended.EndedAt = timestamppb.Now()
		a.gone()
		p.release()
		a.judge(ended, end, memoryKills().since(kills))
	} else {
		a.fail(ended, err)
		log.note(ended.GetMessage())
	}
	enough()
	follower.Wait()
	if err := log.finish(context.Background()); err != nil {
		w.log.Warn().Err(err).Stringer("attempt", a.id).Msg("cannot store the log of an attempt; log lost")
	}
	return ended
}

// command is what the assignment says. Its variables win over those of the worker's environment.
func (a *attempt) command() command {
	env := maps.Clone(a.worker.runner.env)
	maps.Copy(env, a.assignment.GetEnv())
	present(env, a.worker.runner.env)
	return command{args: a.assignment.GetArgs(), env: env}
}

// present puts the token of an attempt, if it has one, into the addresses that the worker was given.
func present(env, base map[string]string) {
	token := env[attempts.TokenVariable]
	if token == "" {
		return
	}
	endpoint, apps := attempts.WithToken(base[attempts.EndpointVariable], base[attempts.AppsVariable], base[attempts.InsecureVariable] != "", token)
	env[attempts.EndpointVariable] = endpoint
	if apps != "" {
		env[attempts.AppsVariable] = apps
	}
}

// live records that the process runs. What was asked for meanwhile is done.
func (a *attempt) live(p process, ended *workerv1.Ended) {
	ended.StartedAt, ended.Warm, ended.SlowStart = timestamppb.Now(), p.warm(), clip.Head(p.slow(), longestReason)
	a.worker.began(&workerv1.Running{
		Id: a.id.proto(), StartedAt: ended.GetStartedAt(), Warm: ended.GetWarm(), SlowStart: ended.GetSlowStart(),
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.process = p
	if a.why != "" {
		p.kill()
		return
	}
	if limit := a.assignment.GetTimeout(); limit != nil {
		// Counted from the start of the process, as for a pod: preparing it is not the task's time.
		time.AfterFunc(limit.AsDuration(), func() {
			a.end(fmt.Sprintf("the attempt took longer than its timeout of %s", limit.AsDuration()), 0, false)
		})
	}
}

// gone records the end of the process. Whatever asked for the end afterwards came too late and must not change the
// outcome.
func (a *attempt) gone() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.process, a.over = nil, true
	a.abandon(nil)
	for _, timer := range a.timers {
		timer.Stop()
	}
}

// after has something done after a time, unless the process has ended by then. Called with the lock held.
func (a *attempt) after(d time.Duration, do func()) {
	a.timers = append(a.timers, time.AfterFunc(d, do))
}

// stop ends the attempt: politely first.
func (a *attempt) stop(grace time.Duration) { a.end("the server asked for the end", grace, false) }

// lose ends the attempt at once, because of the worker.
func (a *attempt) lose(why string) { a.end(why, 0, true) }

// end has the attempt end, for the first reason that was given: what follows is a consequence of it. A grace of 0 kills
// at once.
func (a *attempt) end(why string, grace time.Duration, lost bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	if a.why == "" {
		a.why = why
	}
	a.lost = a.lost || lost
	a.abandon(errors.New(why))
	if a.process == nil {
		return // it ends before its process runs
	}
	if grace <= 0 {
		a.process.kill()
		return
	}
	a.process.interrupt()
	a.after(grace, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.process != nil {
			a.process.kill()
		}
	})
}

// fail is the end of an attempt without a process.
func (a *attempt) fail(ended *workerv1.Ended, err error) *workerv1.Ended {
	a.mu.Lock()
	defer a.mu.Unlock()
	ended.EndedAt = timestamppb.Now()
	ended.End, ended.Message = workerv1.End_END_LOST, clip.Head(err.Error(), longestMessage)
	if a.why != "" && !a.lost {
		ended.End, ended.Message = workerv1.End_END_STOPPED, a.why
	}
	return ended
}

// judge says how the process ended. What the worker did to it comes first: a process that the worker killed may exit
// with any code. A SIGKILL without a reason is explained by the OOM kills of its time, as far as they are known.
func (a *attempt) judge(ended *workerv1.Ended, end exit, memory shortage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.lost:
		ended.End, ended.Message = workerv1.End_END_LOST, a.why
	case a.why != "":
		ended.End, ended.Message = workerv1.End_END_STOPPED, a.why
	case end.lost != "" && end.crowd && memory == ours:
		ended.End, ended.Message = workerv1.End_END_OUT_OF_MEMORY_TOGETHER, end.lost
	case end.lost != "":
		ended.End, ended.Message = workerv1.End_END_LOST, end.lost
	case end.signal == syscall.SIGKILL && memory == machines:
		ended.End, ended.Message = workerv1.End_END_LOST, "the process was killed (SIGKILL), and the machine may have run out of memory"
	case end.signal == syscall.SIGKILL && memory == ours:
		ended.End, ended.Message = workerv1.End_END_OUT_OF_MEMORY, "the process used more memory than the worker has"
	case end.signal != 0:
		ended.End, ended.Code = workerv1.End_END_SIGNALED, int32(end.signal) //nolint:gosec // a small number
		ended.Message = "the process was ended by signal " + end.signal.String()
	default:
		ended.End, ended.Code = workerv1.End_END_EXITED, int32(end.code) //nolint:gosec // at most 255
		if end.code != 0 {
			ended.Message = fmt.Sprintf("the process exited with code %d", end.code)
		}
	}
	ended.Message = clip.Head(ended.GetMessage(), longestMessage)
}
