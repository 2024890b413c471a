package admission

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/store"
)

// maxRuns bounds how many waiting runs one pass looks at.
const maxRuns = 5000

// Pass admits one batch of what may start now, and tells whether another pass may find more.
func (l *Loop) Pass(ctx context.Context) (again bool, err error) {
	waiting, err := l.deps.Queue.Waiting(ctx, maxRuns)
	if err != nil {
		return false, err
	}
	l.backlog.Store(len(waiting) > 0)
	if len(waiting) == 0 {
		return false, nil
	}
	free, err := l.free(ctx)
	if err != nil || free <= 0 {
		return false, err
	}
	shares, err := l.shares(ctx, waiting)
	if err != nil || len(shares) == 0 {
		return false, err
	}
	limit := min(free, l.config.Batch)
	queued, err := l.deps.Queue.Next(ctx, shares, limit)
	if err != nil {
		return false, err
	}
	admitted, err := l.deps.Admit.Admit(ctx, queued)
	if err != nil {
		return false, err
	}
	if len(queued) == limit && admitted > 0 {
		return true, nil
	}
	return false, l.measure(ctx)
}

// free is how many more actions the installation may have under way. Parents that wait for children count only while
// that makes no difference, since counting them is cheaper.
func (l *Loop) free(ctx context.Context) (int, error) {
	live, err := l.deps.Queue.LiveCount(ctx)
	if err != nil {
		return 0, err
	}
	if live+l.config.Batch <= l.config.MaxLive {
		return l.config.MaxLive - live, nil
	}
	leaves, err := l.deps.Queue.LeafCount(ctx)
	if err != nil {
		return 0, err
	}
	return l.config.MaxLive - leaves, nil
}

// shares is how many actions of each waiting run may start. Runs at their limit are left out.
func (l *Loop) shares(ctx context.Context, waiting []store.WaitingRun) ([]store.Share, error) {
	var limited []int64
	for _, run := range waiting {
		if run.MaxConcurrency > 0 {
			limited = append(limited, run.RunID)
		}
	}
	leaves := map[int64]int{}
	if len(limited) > 0 {
		var err error
		if leaves, err = l.deps.Queue.Leaves(ctx, limited); err != nil {
			return nil, err
		}
	}
	shares := make([]store.Share, 0, len(waiting))
	for _, run := range waiting {
		take := l.config.Batch
		if run.MaxConcurrency > 0 {
			take = min(take, int(run.MaxConcurrency)-leaves[run.RunID])
		}
		if take > 0 {
			shares = append(shares, store.Share{RunID: run.RunID, Take: int32(take)}) //nolint:gosec // at most a batch
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
