package launch

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// runContext is the immutable part of a run that its actions inherit. It is shared and read only.
type runContext struct {
	ID         ident.Run
	RootID     int64 // 0 while the run is being created
	Spec       *task.RunSpec
	OutputBase string
	Queue      string
	// Recovery is where results of the run's actions may come from; nil when it recovers no run.
	Recovery *recovery
}

// ContextReader reads the root of a run and its encoded run spec; lists.Reader does.
type ContextReader interface {
	RunContext(ctx context.Context, run ident.Run) (root schema.Root, runSpec []byte, err error)
}

// Contexts caches the contexts of runs, since recording a child needs that of its run.
type Contexts struct {
	runs       ContextReader
	recoveries *Recoveries
	clock      clock.Clock

	known *lru.Cache[ident.Run, cachedContext]
}

// cachedContext has its age, since tests step the clock and expirable caches of the library take the machine's.
type cachedContext struct {
	*runContext
	at time.Time
}

const (
	// maxContexts bounds the cache.
	maxContexts = 8192
	// contextAge bounds how long a context outlives its run: a name may be used again once its run was deleted.
	contextAge = time.Minute
)

// NewContexts returns contexts with an empty cache.
func NewContexts(runs ContextReader, recoveries *Recoveries, c clock.Clock) *Contexts {
	known, err := lru.New[ident.Run, cachedContext](maxContexts)
	if err != nil {
		panic(err) // Only a size that is not positive is refused.
	}
	return &Contexts{runs: runs, recoveries: recoveries, clock: c, known: known}
}

// get returns a NotFound error when there is no such run.
func (c *Contexts) get(ctx context.Context, run ident.Run) (*runContext, error) {
	now := c.clock.Now()
	if known, ok := c.known.Get(run); ok && now.Sub(known.at) < contextAge {
		return known.runContext, nil
	}
	root, body, err := c.runs.RunContext(ctx, run)
	if err != nil {
		return nil, err
	}
	read := &runContext{ID: run, RootID: root.ID, Spec: &task.RunSpec{}, OutputBase: root.RunOutputBase, Queue: root.Queue}
	if err := proto.Unmarshal(body, read.Spec); err != nil {
		return nil, rpc.DataLoss(err, "the stored run spec of run %s cannot be read", run)
	}
	if read.Recovery, err = c.recoveries.of(ctx, run, root.ID, read.Spec); err != nil {
		return nil, err
	}
	c.known.Add(run, cachedContext{runContext: read, at: now})
	return read, nil
}
