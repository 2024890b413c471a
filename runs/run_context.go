package runs

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// runContext is what never changes about a run and what its actions inherit. It is shared and read only.
type runContext struct {
	ID         ident.Run
	RootID     int64 // 0 while the run is being created
	Spec       *task.RunSpec
	OutputBase string
	Queue      string
	// Recovery is where results of the run's actions may come from; nil when it recovers no run.
	Recovery *recovery
}

// runContexts remembers contexts, since every child asks for that of its run.
type runContexts struct {
	svc *Service

	mu           sync.Mutex
	newer, older map[ident.Run]rememberedContext // GUARDED_BY(mu)
}

type rememberedContext struct {
	*runContext
	at time.Time
}

const (
	// maxContexts is how many contexts are remembered, about.
	maxContexts = 8192
	// contextAge bounds how long a context outlives its run: a name may be used again once its run was deleted.
	contextAge = time.Minute
)

// get answers NotFound when there is no such run.
func (c *runContexts) get(ctx context.Context, run ident.Run) (*runContext, error) {
	now := c.svc.clock.Now()
	c.mu.Lock()
	known, ok := c.newer[run]
	if !ok {
		known, ok = c.older[run]
	}
	c.mu.Unlock()
	if ok && now.Sub(known.at) < contextAge {
		return known.runContext, nil
	}
	root, body, err := c.svc.lists.RunContext(ctx, run)
	if err != nil {
		return nil, err
	}
	read := &runContext{ID: run, RootID: root.ID, Spec: &task.RunSpec{}, OutputBase: root.RunOutputBase, Queue: root.Queue}
	if err := proto.Unmarshal(body, read.Spec); err != nil {
		return nil, rpc.DataLoss(err, "the stored run spec of run %s cannot be read", run)
	}
	if read.Recovery, err = c.svc.recoveryOf(ctx, run, root.ID, read.Spec); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.newer == nil || len(c.newer) >= maxContexts/2 {
		c.older, c.newer = c.newer, map[ident.Run]rememberedContext{}
	}
	c.newer[run] = rememberedContext{runContext: read, at: now}
	return read, nil
}
