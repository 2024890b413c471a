package admission

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/store"
)

// maxRuns bounds how many waiting runs one pass looks at.
const maxRuns = 5000

// Pass admits one batch of what may start now and answers how many that were. When it is 0 nothing more may start.
func (l *Loop) Pass(ctx context.Context) (admitted int, err error) {
	l.saturated.Store(false)
	waiting, err := l.deps.Queue.Waiting(ctx, maxRuns)
	if err != nil {
		return 0, err
	}
	l.backlog.Store(len(waiting) > 0)
	if len(waiting) == 0 {
		return 0, nil
	}
	free, leaves, err := l.free(ctx)
	if err != nil {
		return 0, err
	}
	if free <= 0 {
		l.saturated.Store(true)
		return 0, nil
	}
	shares, err := l.shares(ctx, waiting, leaves)
	if err != nil || len(shares) == 0 {
		return 0, err
	}
	queued, err := l.deps.Queue.Next(ctx, shares, min(free, l.config.Batch))
	if err != nil {
		return 0, err
	}
	return l.deps.Admit.Admit(ctx, queued)
}

// free is how many more actions the installation may have under way. Parents that wait for children are told apart
// only when that matters, since it costs more; then the places that each run has taken are returned too.
func (l *Loop) free(ctx context.Context) (free int, leaves map[int64]int, err error) {
	live, err := l.deps.Queue.LiveCount(ctx)
	if err != nil {
		return 0, nil, err
	}
	if live+l.config.Batch <= l.config.MaxLive {
		return l.config.MaxLive - live, nil, nil
	}
	if leaves, err = l.deps.Queue.AllLeaves(ctx); err != nil {
		return 0, nil, err
	}
	free = l.config.MaxLive
	for _, n := range leaves {
		free -= n
	}
	return free, leaves, nil
}

// shares is how many actions of each waiting run may start, and after how many of others it is its turn. Runs at their
// own limit are left out.
func (l *Loop) shares(ctx context.Context, waiting []store.WaitingRun, leaves map[int64]int) ([]store.Share, error) {
	var limited []int64
	for _, run := range waiting {
		if run.MaxConcurrency > 0 {
			limited = append(limited, run.RunID)
		}
	}
	if leaves == nil && len(limited) > 0 {
		var err error
		if leaves, err = l.deps.Queue.Leaves(ctx, limited); err != nil {
			return nil, err
		}
	}
	// Of many runs only the first actions can have their turn in this pass; there is no need to read more.
	depth := min(l.config.Batch, max(8, 2*l.config.Batch/len(waiting)))
	shares := make([]store.Share, 0, len(waiting))
	for _, run := range waiting {
		take, taken := depth, leaves[run.RunID]
		if run.MaxConcurrency > 0 {
			take = min(take, int(run.MaxConcurrency)-taken)
		}
		if take > 0 {
			shares = append(shares, store.Share{RunID: run.RunID, Take: int32(take), Taken: int32(taken)}) //nolint:gosec // small
		}
	}
	return shares, nil
}

// measure opens the writers' gate as far as the installation's limit allows, and shuts it while actions wait for
// that limit, so that nothing overtakes them.
func (l *Loop) measure(ctx context.Context) error {
	waiting, err := l.deps.Queue.Waiting(ctx, maxRuns)
	if err != nil {
		return err
	}
	l.backlog.Store(len(waiting) > 0)
	for _, run := range waiting {
		if run.MaxConcurrency == 0 {
			l.deps.Gate.Set(0)
			return nil
		}
	}
	live, err := l.deps.Queue.LiveCount(ctx)
	if err != nil {
		return err
	}
	l.deps.Gate.Set(int64(l.config.MaxLive - live))
	return nil
}
