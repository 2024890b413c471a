package worker

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

const (
	// firstPause and longestPause are between two streams.
	firstPause, longestPause = 100 * time.Millisecond, 5 * time.Second
	// tick is how often the lease is looked at, and how long a break of the stream is noticed at the latest.
	tick = 200 * time.Millisecond
	// farewell is what is kept of the grace for the last report: the kubelet kills the worker at the end of the grace,
	// and an unreported end is a lost attempt.
	farewell = 5 * time.Second
)

// Worker is a worker of one pool.
type Worker struct {
	cfg    Config
	log    zerolog.Logger
	store  Store
	runner *runner
	link   *link
	now    func() time.Duration
	wake   chan struct{} // the server must be notified

	mu       sync.Mutex
	session  *session        // GUARDED_BY(mu)
	attempts map[id]*attempt // GUARDED_BY(mu)
	heard    time.Duration   // GUARDED_BY(mu): when the last message was made
	broken   func()          // GUARDED_BY(mu): ends the current stream
	guarded  time.Duration   // GUARDED_BY(mu): the time of the deadline; 0 if there is none
	work     sync.WaitGroup  // attempts
}

// New returns a worker. A nil store keeps no logs.
func New(cfg Config, store Store, log zerolog.Logger) (*Worker, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	runner, err := newRunner(cfg, log)
	if err != nil {
		return nil, err
	}
	return &Worker{
		cfg: cfg, log: log, store: store, runner: runner, link: newLink(cfg), now: monotonic, wake: make(chan struct{}, 1),
		session: newSession(cfg.ID, rand.Text(), cfg.Version, cfg.Concurrency), attempts: map[id]*attempt{},
	}, nil
}

// Run works until the server drains the worker, or until the context ends: then what runs may continue until the grace is
// nearly over. It returns nil in both cases; all work has ended then.
func (w *Worker) Run(ctx context.Context) error {
	if err := adoptOrphans(); err != nil {
		return err
	}
	defer w.runner.stop()
	// Work outlives the context, which only asks for the end.
	working, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go w.runner.prepare(working)
	linked := make(chan error, 1)
	go func() { linked <- w.connect(working) }()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	leaving := ctx.Done()
	var until time.Duration // when the grace is over
	for {
		select {
		case <-leaving:
			leaving = nil
			until = w.now() + max(w.cfg.Grace-farewell, w.cfg.Grace/2)
			w.log.Info().Dur("grace", w.cfg.Grace).Msg("termination requested; draining")
			w.drain()
		case err := <-linked:
			w.killAll("the server has given up the worker")
			w.work.Wait()
			w.log.Info().Err(err).Msg("unknown worker id; exiting")
			return nil
		case <-ticker.C:
			w.look()
		}
		if until != 0 && w.now() > until {
			w.killAll("the worker had to end")
		}
		if w.over() || until != 0 && w.now() > until+farewell {
			w.killAll("the worker had to end")
			w.work.Wait()
			return nil
		}
	}
}

// look does what is due by time alone.
func (w *Worker) look() {
	w.mu.Lock()
	now := w.now()
	lost, silent, due := w.session.lapse(now), w.session.silent(now), now-w.heard >= w.session.interval()
	broken := w.broken
	w.mu.Unlock()
	if lost {
		w.log.Warn().Msg("lease expired; stopping all attempts, which will be reassigned")
		w.killAll("the worker lost contact with the server, and its lease expired")
	}
	if silent && broken != nil {
		broken()
	}
	if due {
		w.hurry()
	}
}

// hurry has a message sent.
func (w *Worker) hurry() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// drain stops the worker from taking attempts and notifies the server.
func (w *Worker) drain() {
	w.mu.Lock()
	w.session.draining = true
	w.mu.Unlock()
	w.hurry()
}

func (w *Worker) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session.over()
}

// killAll ends all attempts. They are lost.
func (w *Worker) killAll(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.attempts {
		one.lose(why)
	}
}

// connect opens one stream after the other until the server no longer knows the worker. It returns that error.
func (w *Worker) connect(ctx context.Context) error {
	pauses := backoff.New(firstPause, longestPause)
	for {
		began := w.now()
		err := w.stream(ctx)
		if unknown(err) || ctx.Err() != nil {
			return err
		}
		// A stream that worked for a while starts the backoff again; one that breaks at once does not.
		if w.now()-began > longestPause {
			pauses.Reset()
		}
		pause := pauses.Next()
		w.log.Warn().Err(err).Dur("pause", pause).Msg("stream to the server failed; reconnecting")
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stream has one stream, from its first message to its error.
func (w *Worker) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.mu.Lock()
	w.session.connect()
	w.broken = func() { cancel(errSilent) }
	w.mu.Unlock()
	err := w.link.run(ctx, w.wake, w.next, w.take)
	w.mu.Lock()
	w.broken = nil
	w.session.connect() // what is still sent on the old stream has no answer
	w.mu.Unlock()
	return err
}

// next is the message that is sent now.
func (w *Worker) next() *workerv1.WorkRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = w.now()
	return w.session.message(w.heard)
}

// take does what the server asks for.
func (w *Worker) take(m *workerv1.WorkResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d, changed := w.session.receive(w.now(), m)
	switch {
	case d.start != nil:
		w.begin(d.start)
	case d.stop != nil:
		if one := w.attempts[idOf(d.stop.GetId())]; one != nil {
			one.stop(d.stop.GetGrace().AsDuration())
		}
	case d.drain != "":
		w.log.Info().Str("reason", d.drain).Msg("server asked this worker to drain")
	}
	w.guard()
	if changed {
		w.hurry()
	}
}

// begin starts an attempt. Called with the lock held.
func (w *Worker) begin(a *workerv1.Assignment) {
	one := newAttempt(w, a)
	w.attempts[one.id] = one
	w.work.Go(func() {
		ended := one.run()
		w.mu.Lock()
		delete(w.attempts, one.id)
		w.session.finish(ended)
		w.guard()
		w.mu.Unlock()
		w.hurry()
	})
}

// began reports that the process of an attempt runs.
func (w *Worker) began(r *workerv1.Running) {
	w.mu.Lock()
	w.session.began(r)
	w.mu.Unlock()
	w.hurry()
}

// String names an attempt in the log.
func (i id) String() string { return fmt.Sprintf("%d.%d", i.uid, i.attempt) }
