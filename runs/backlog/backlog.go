// Package backlog refuses new runs of a project that has more under way than its limits allow, so that CreateRun does not accept
// runs much faster than the cluster starts them. Children of actions that run are never refused here: parents that wait
// for each other's children to end would wait forever. Queues and runs have limits for them.
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
	// maxProjects bounds the projects that are remembered.
	maxProjects = 10_000
)

// Counter counts what a project has under way; worklists.QueueReader is one.
type Counter interface {
	// UnderWay counts up to the given numbers; 0 means that it is not counted.
	UnderWay(ctx context.Context, project string, runs, actions int) (worklists.UnderWay, error)
}

// Backlog knows about how much each project has under way. It is safe for concurrent use. Its counts are at most a second old, or ten
// seconds where other processes create runs, so a limit may be exceeded by what is created meanwhile.
type Backlog struct {
	config  Config
	counter Counter
	clock   clock.Clock

	mu       sync.Mutex
	projects map[string]*project // GUARDED_BY(mu)
}

// New returns a backlog that has counted nothing.
func New(config Config, counter Counter, clk clock.Clock) *Backlog {
	return &Backlog{config: config, counter: counter, clock: clk, projects: map[string]*project{}}
}

// project is the last count, and what was created since.
type project struct {
	mu      sync.Mutex
	counted worklists.UnderWay // GUARDED_BY(mu)
	created int                // GUARDED_BY(mu)
	at      time.Time          // GUARDED_BY(mu)
}

// Enter counts a run that is about to be created, or returns an error when the project is at a limit.
func (b *Backlog) Enter(ctx context.Context, name string) error {
	if b.config == (Config{}) {
		return nil
	}
	p := b.of(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if age := b.clock.Now().Sub(p.at); age >= stale || age >= recount && b.reached(name, p) != nil {
		if err := b.count(ctx, name, p); err != nil {
			return err
		}
	}
	if err := b.reached(name, p); err != nil {
		return err
	}
	p.created++
	return nil
}

func (b *Backlog) of(name string) *project {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.projects[name]
	if p == nil {
		if len(b.projects) >= maxProjects {
			clear(b.projects)
		}
		p = &project{}
		b.projects[name] = p
	}
	return p
}

// count counts a project again. GUARDED_BY(p.mu).
func (b *Backlog) count(ctx context.Context, name string, p *project) error {
	at := b.clock.Now()
	counted, err := b.counter.UnderWay(ctx, name, b.config.WaitingRuns, b.config.Actions)
	if err != nil {
		return err
	}
	p.counted, p.created, p.at = counted, 0, at
	return nil
}

// reached returns the error for a project that is at a limit as far as is known. GUARDED_BY(p.mu).
func (b *Backlog) reached(name string, p *project) error {
	if most := b.config.WaitingRuns; most > 0 && p.counted.WaitingRuns+p.created >= most {
		return rpc.TryLater(retryAfter, "project %s has %d runs that wait to start, which is the limit (runs.backlog.waitingRuns); try again in %s",
			name, most, retryAfter)
	}
	if most := b.config.Actions; most > 0 && p.counted.Actions+p.created >= most {
		return rpc.TryLater(retryAfter, "project %s has %d unfinished actions, which is the limit (runs.backlog.actions); try again in %s",
			name, most, retryAfter)
	}
	return nil
}
