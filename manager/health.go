package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/executor/reconciler"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// writes checks the age of the oldest change that is not stored.
func writes(c configuration.HealthConfig, oldest func() time.Duration) func(context.Context) error {
	return func(context.Context) error {
		if age := oldest(); age > c.OldestWrite {
			return fmt.Errorf("the oldest change has waited %s to be stored (health.oldestWrite is %s)", age.Round(time.Second), c.OldestWrite)
		}
		return nil
	}
}

// disk checks the free space of storage directories; an object store has none.
func disk(c configuration.HealthConfig, free func(context.Context) (uint64, bool, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		left, known, err := free(ctx)
		if err != nil || !known || left >= c.MinFreeBytes {
			return err
		}
		return fmt.Errorf("%d MiB are free (health.minFreeBytes is %d MiB): free space, or enable retention", left>>20, c.MinFreeBytes>>20)
	}
}

// reconciles checks the age of the longest reconcile, in multiples of executor.reconciler.slowAfter.
func reconciles(longest func() (reconciler.Running, bool), slowAfter time.Duration, times int) func(context.Context) error {
	return func(context.Context) error {
		if one, found := longest(); found && one.Age > time.Duration(times)*slowAfter {
			return fmt.Errorf("%s (executor.reconciler.slowAfter is %s)", one, slowAfter)
		}
		return nil
	}
}

// deadAfter is the age of a reconcile, as a multiple of executor.reconciler.slowAfter, that only a restart ends: its
// context has long ended.
const deadAfter = 10

// alive reports why a restart of the process would help; nil if it would not.
func (p *process) alive() error {
	if p.executor == nil {
		return nil
	}
	return reconciles(p.executor.Longest, p.config.Executor.Reconciler.SlowAfter, deadAfter)(context.Background())
}

// starts checks the age of the oldest action that was admitted and with which its cluster has not begun.
func starts(c configuration.HealthConfig, oldest func(context.Context) (time.Duration, error)) func(context.Context) error {
	return func(ctx context.Context) error {
		age, err := oldest(ctx)
		if err != nil || age <= c.OldestStart {
			return err
		}
		return fmt.Errorf("the oldest admitted action has waited %s for its cluster to begin with it (health.oldestStart is %s): "+
			"the cluster is overloaded, or has no controller", age.Round(time.Second), c.OldestStart)
	}
}

// startsEvery is the least time between two looks at the actions that are to start.
const startsEvery = 10 * time.Second

// atMost runs a check at most once in a while. Between two runs it returns the last result.
type atMost struct {
	run   func(context.Context) error
	every time.Duration
	clock clock.Clock

	mu   sync.Mutex
	last time.Time // GUARDED_BY(mu): the zero time before the first
	err  error     // GUARDED_BY(mu)
}

// check returns the result of the last run, after another one if that is long ago. Callers wait for a run in progress.
func (p *atMost) check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if !p.last.IsZero() && now.Sub(p.last) < p.every {
		return p.err
	}
	err := p.run(ctx)
	if errors.Is(err, context.Canceled) {
		return err // the caller left, and has learned nothing
	}
	p.last, p.err = now, err
	return err
}
