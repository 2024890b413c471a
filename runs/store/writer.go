package store

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/queues"
)

// Waker is told after each commit which runs changed. It must not block.
type Waker interface {
	Wake(runIDs ...int64)
}

// LiveObserver is told after each commit of this process what it did to the live set. It must not block.
type LiveObserver interface {
	LiveChanged(LiveChange)
}

// LiveChange is what one commit did to the set of actions that are admitted and unfinished.
type LiveChange struct {
	Admitted []Ref     // became live
	Ended    []Ref     // are no longer live
	Queued   []int64   // runs that have actions to admit since this commit
	Held     []int64   // runs in which actions got a hold
	Due      time.Time // the earliest time at which one of the actions that changed is due; zero when none is
}

// Ref names an action by id and name.
type Ref struct {
	ID, RunID                      int64
	Project, Domain, RunName, Name string
	Runner                         Runner `db:"-"` // in changes only
}

func (r Ref) ident() ident.Action {
	return ident.Action{Run: ident.Run{Project: r.Project, Domain: r.Domain, Name: r.RunName}, Name: r.Name}
}

// Ident is the public name of the action.
func (r Ref) Ident() ident.Action { return r.ident() }

// WriterDeps are what a Writer stands on. Waker and Live may be nil.
type WriterDeps struct {
	Pool   *pgxpool.Pool
	Clock  clock.Clock
	Waker  Waker
	Live   LiveObserver
	Logger zerolog.Logger
	// Queues are the queues of the installation; nil means the default queue alone.
	Queues *queues.Set
	// Replica tells this process from others in notifications; at most 64 characters without a space.
	Replica string
}

// Writer makes all changes of actions, many in one transaction. Operations are answered after the commit, each with
// its own error. They are idempotent by content, so that a commit whose outcome is unknown is simply repeated.
type Writer struct {
	config WriterConfig
	deps   WriterDeps
	gate   *Gate
	specs  *digestSet // specs that are stored for sure

	mu      sync.Mutex
	queue   []*request // GUARDED_BY(mu)
	stopped bool       // GUARDED_BY(mu)
	cancel  context.CancelFunc
	done    chan struct{}
	wake    chan struct{} // of capacity one: the queue is not empty, or we stop
}

// request is an operation that waits for its commit.
type request struct {
	ctx  context.Context //nolint:containedctx // the caller's patience, which ends apart from the commit
	op   operation
	done chan error
}

// NewWriter makes a writer; operations wait until Start.
func NewWriter(config WriterConfig, deps WriterDeps) *Writer {
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Queues == nil {
		deps.Queues = queues.New(nil)
	}
	return &Writer{
		config: config,
		deps:   deps,
		gate:   &Gate{},
		specs:  newDigestSet(4096),
		done:   make(chan struct{}),
		wake:   make(chan struct{}, 1),
	}
}

// Waiting is how many operations wait for their commit.
func (w *Writer) Waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

// Gate is where admission says how many actions may become live without asking it.
func (w *Writer) Gate() *Gate { return w.gate }

// Start implements lifecycle.Part.
func (w *Writer) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cancel != nil || w.stopped {
		cancel()
		return nil
	}
	w.cancel = cancel
	go w.run(ctx)
	return nil
}

// Stop implements lifecycle.Part. What waits is still committed, unless the context ends first.
func (w *Writer) Stop(ctx context.Context) error {
	w.mu.Lock()
	w.stopped = true
	cancel := w.cancel
	w.mu.Unlock()
	if cancel == nil {
		return nil
	}
	w.poke()
	select {
	case <-w.done:
		cancel()
		return nil
	case <-ctx.Done():
		cancel()
		<-w.done
		return ctx.Err()
	}
}

// submit hands an operation in and waits for its commit. When the context ends first the outcome is unknown, and
// repeating the operation is safe.
func (w *Writer) submit(ctx context.Context, op operation) error {
	r := &request{ctx: ctx, op: op, done: make(chan error, 1)}
	if err := w.enqueue(r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-ctx.Done():
		return rpc.Unavailable(context.Cause(ctx), "the change was not confirmed in time")
	}
}

func (w *Writer) enqueue(r *request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return rpc.Unavailable(rpc.ErrShuttingDown, "the server is shutting down")
	}
	if len(w.queue) >= w.config.MaxQueue {
		return rpc.ResourceExhausted("%d changes wait to be stored, try again later", len(w.queue))
	}
	w.queue = append(w.queue, r)
	w.poke()
	return nil
}

func (w *Writer) poke() {
	select {
	case w.wake <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// run commits one batch after the other. There is no pause to collect: what arrives during a commit is the next batch.
func (w *Writer) run(ctx context.Context) {
	defer close(w.done)
	for {
		batch, stopped := w.take()
		if len(batch) > 0 {
			w.commit(ctx, batch)
			continue
		}
		if stopped {
			return
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			w.refuse()
			return
		}
	}
}

// take removes the next batch from the queue, without the operations whose callers have gone.
func (w *Writer) take() (batch []*request, stopped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.queue), w.config.MaxBatch)
	batch = make([]*request, 0, n)
	for _, r := range w.queue[:n] {
		if r.ctx.Err() == nil {
			batch = append(batch, r)
		}
	}
	clear(w.queue[:n])
	w.queue = w.queue[n:]
	if len(w.queue) == 0 {
		w.queue = nil
	} else if len(batch) == 0 {
		w.poke()
	}
	return batch, w.stopped && len(w.queue) == 0
}

// refuse answers everything that waits when the writer was cut off.
func (w *Writer) refuse() {
	w.mu.Lock()
	w.stopped = true
	waiting := w.queue
	w.queue = nil
	w.mu.Unlock()
	answer(waiting, rpc.Unavailable(rpc.ErrShuttingDown, "the server is shutting down"))
}

func answer(requests []*request, err error) {
	for _, r := range requests {
		r.done <- err
	}
}
