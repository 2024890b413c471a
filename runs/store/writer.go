package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	groupcommit "github.com/flyte-binary/flyte-binary/internal/work/batch"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Waker is notified after each commit of the runs that changed. It must not block.
type Waker interface {
	Wake(runIDs ...int64)
}

// LiveObserver is notified after each commit of this process of the changes to the live set. It must not block.
type LiveObserver interface {
	LiveChanged(LiveChange)
}

// Records are the audit records of calls, which are committed with what the calls change.
type Records interface {
	// Queue adds the statement that stores the records of calls, by the contexts of their operations. Calls without a record are left
	// out.
	Queue(statements *pgx.Batch, calls []context.Context) error
	// Committed is called after the commit. It must not block.
	Committed(calls []context.Context)
}

// LiveChange is what one commit did to the set of actions that are admitted and unfinished.
type LiveChange struct {
	Admitted []schema.Ref // became live
	Ended    []schema.Ref // are no longer live
	Queued   []int64      // runs that have actions to admit since this commit
	Held     []int64      // runs in which actions got a hold
	Due      time.Time    // the earliest time at which one of the actions that changed is due; zero when none is
}

// WriterDeps are the dependencies of a Writer. Waker, Live and Records may be nil.
type WriterDeps struct {
	Pool   *pgxpool.Pool
	Clock  clock.Clock
	Waker  Waker
	Live   LiveObserver
	Logger zerolog.Logger
	// Conditions is notified of conditions that ended; it may be nil.
	Conditions ConditionObserver
	// Records get the calls of operations that changed something.
	Records Records
	// Queues are the queues of the installation; nil means the default queue alone.
	Queues *queues.Set
	// Places chooses among the clusters that are known; nil means that only queues name clusters.
	Places *placement.Book
	// Notify has a bit for each phase that the installation's own notification rules name: 1<<phase.
	Notify int32
	// Counts says that tasks that ended are listed, to be counted in roll-ups and, if they failed, in problems.
	Counts bool
	// EventSinks are the names of the sinks to which events are published; none costs nothing.
	EventSinks []string
	// GateLease is the lease under which the gate admits, where several processes share the limit of the installation: what
	// another replica admits is not in this one's counts. Empty means that this process is the only one.
	GateLease string
	// Replica identifies this process in notifications; at most 64 characters without a space.
	Replica string
	// Channels are where commits are announced; the zero value means ChannelRuns and ChannelLive.
	Channels Channels
	// Silence is after how long without a report a run of RunnerClient is ended; 0 means never.
	Silence time.Duration
}

// Channels are the names of notifications. Without a name, nothing is announced.
type Channels struct{ Runs, Live string }

// Writer makes all changes of actions except the deletion of whole runs, which is Retention's. It commits many operations
// in one transaction and answers each after the commit, with its own error. Operations are idempotent by content, so that
// a commit whose outcome is unknown is simply repeated.
type Writer struct {
	config WriterConfig
	deps   WriterDeps
	gate   *Gate
	specs  *digestSet // specs that are known to be stored

	batches *groupcommit.Batcher[operation, struct{}]
}

var _ lifecycle.Part = (*Writer)(nil)

// request is an operation that waits for its commit.
type request = groupcommit.Item[operation, struct{}]

// NewWriter returns a writer; operations wait until Start.
func NewWriter(config WriterConfig, deps WriterDeps) *Writer {
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Channels == (Channels{}) {
		deps.Channels = Channels{Runs: notices.ChannelRuns, Live: notices.ChannelLive}
	}
	if deps.Queues == nil {
		deps.Queues = queues.New(nil)
	}
	w := &Writer{config: config, deps: deps, gate: &Gate{}, specs: newDigestSet(4096)}
	w.batches = groupcommit.New(groupcommit.Config[operation, struct{}]{
		MaxWeight: config.MaxBatch, MaxWaiting: config.MaxQueue, Flush: w.commit,
	})
	return w
}

// Waiting is the number of operations that wait for their commit.
func (w *Writer) Waiting() int { return w.batches.Waiting() }

// Oldest is how long the oldest operation without an answer has waited.
func (w *Writer) Oldest() time.Duration { return w.batches.Oldest() }

// Gate is where admission sets how many actions may become live without going through the queue.
func (w *Writer) Gate() *Gate { return w.gate }

// Start implements lifecycle.Part.
func (w *Writer) Start(ctx context.Context) error { return w.batches.Start(ctx) }

// Stop implements lifecycle.Part. It commits the operations that wait, unless the context ends first.
func (w *Writer) Stop(ctx context.Context) error { return w.batches.Stop(ctx) }

// submit queues an operation and waits for its commit. When the context ends first the outcome is unknown, and
// repeating the operation is safe.
func (w *Writer) submit(ctx context.Context, op operation) error {
	_, err := w.batches.Submit(ctx, op)
	switch {
	case errors.Is(err, groupcommit.ErrStopped):
		return errStopping()
	case errors.Is(err, groupcommit.ErrFull):
		return rpc.ResourceExhausted("the server is overloaded: %d changes are waiting to be stored; try again later", w.config.MaxQueue)
	case errors.Is(err, groupcommit.ErrAbandoned):
		return rpc.Unavailable(context.Cause(ctx), "timed out while storing the change")
	}
	return err
}

func errStopping() error {
	return rpc.Unavailable(rpc.ErrShuttingDown, "the server is shutting down")
}

func answer(requests []*request, err error) {
	for _, r := range requests {
		r.Answer(struct{}{}, err)
	}
}
