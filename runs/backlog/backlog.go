// Package backlog refuses new runs of a project, or of a caller, that has more under way than its limits allow, so that
// CreateRun does not accept runs much faster than the cluster starts them. Children of actions that run are never refused
// here: parents that wait for each other's children to end would wait forever. Queues and runs have limits for them.
package backlog

import (
	"context"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

const (
	// recount is the least time between two counts of a project that may have reached a limit.
	recount = time.Second
	// stale is when a project is counted again in any case, because other processes create runs too.
	stale = 10 * time.Second
	// retryAfter is when a refused caller may try again.
	retryAfter = 5 * time.Second
	// maxOwners bounds the projects and callers that are remembered.
	maxOwners = 10_000
)

// Counter counts what a project has under way; worklists.QueueReader is one.
type Counter interface {
	// UnderWay counts up to the given numbers; 0 means that it is not counted.
	UnderWay(ctx context.Context, project string, runs, actions int) (worklists.UnderWay, error)
	// UnderWayOf counts the unfinished actions in runs that a caller has created, up to a number.
	UnderWayOf(ctx context.Context, caller string, actions int) (worklists.UnderWay, error)
}

// owner is a project or a caller.
type owner struct{ project, caller string }

// Backlog knows about how much each project and each caller has under way. It is safe for concurrent use. Its counts are at
// most a second old, or ten seconds where other processes create runs, so a limit may be exceeded by what is created
// meanwhile.
type Backlog struct {
	config  Config
	counter Counter
	clock   clock.Clock
	refused Refused

	mu     sync.Mutex
	owners map[owner]*count // GUARDED_BY(mu)
}

// Refused is called for each run that is refused, with the label of the limit in metrics; nil counts nothing.
type Refused func(ctx context.Context, limit string)

// New returns a backlog that has counted nothing.
func New(config Config, counter Counter, clk clock.Clock, refused Refused) *Backlog {
	return &Backlog{config: config, counter: counter, clock: clk, refused: refused, owners: map[owner]*count{}}
}

// count is the last count, and what was created since.
type count struct {
	mu      sync.Mutex
	counted worklists.UnderWay // GUARDED_BY(mu)
	created int                // GUARDED_BY(mu)
	at      time.Time          // GUARDED_BY(mu)
}

// Enter counts a run that is about to be created, or returns an error when the project or the caller is at a limit. A caller
// without a name counts for the project alone.
func (b *Backlog) Enter(ctx context.Context, project, caller string) error {
	if caller != "" {
		if err := b.enter(ctx, owner{caller: caller}); err != nil {
			return err
		}
	}
	return b.enter(ctx, owner{project: project})
}

func (b *Backlog) enter(ctx context.Context, who owner) error {
	if !b.limited(who) {
		return nil
	}
	c := b.of(who)
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := b.clock.Now().Sub(c.at); age >= stale || age >= recount && b.reached(who, c) != nil {
		if err := b.count(ctx, who, c); err != nil {
			return err
		}
	}
	if limit := b.reached(who, c); limit != nil {
		if b.refused != nil {
			b.refused(ctx, limit.label)
		}
		return rpc.TryLater(retryAfter, limit.says+", which is the limit (%[3]s); try again in %[4]s", who.name(), limit.most, limit.setting, retryAfter)
	}
	c.created++
	return nil
}

func (b *Backlog) of(who owner) *count {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.owners[who]
	if c == nil {
		if len(b.owners) >= maxOwners {
			clear(b.owners)
		}
		c = &count{}
		b.owners[who] = c
	}
	return c
}

// count counts again what an owner has under way. GUARDED_BY(c.mu).
func (b *Backlog) count(ctx context.Context, who owner, c *count) (err error) {
	at := b.clock.Now()
	var counted worklists.UnderWay
	if who.caller != "" {
		counted, err = b.counter.UnderWayOf(ctx, who.caller, b.config.CallerActions)
	} else {
		counted, err = b.counter.UnderWay(ctx, who.project, b.config.WaitingRuns, b.config.Actions)
	}
	if err != nil {
		return err
	}
	c.counted, c.created, c.at = counted, 0, at
	return nil
}

// reached returns the limit that an owner has reached as far as is known; nil for none. GUARDED_BY(c.mu).
func (b *Backlog) reached(who owner, c *count) *limit {
	for _, limit := range b.limits(who) {
		if limit.most > 0 && limit.under(c.counted)+c.created >= limit.most {
			return &limit
		}
	}
	return nil
}
