package admission

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// maxGroups bounds how many waiting roots, and runs with waiting children, of each queue a pass looks at first. It looks
// further only when none of them may start.
const maxGroups = 5000

// Pass admits one batch of what may start now and answers how many it chose. When that is 0 nothing more may start.
func (l *Loop) Pass(ctx context.Context) (chosen int, err error) { return l.pass(ctx, "") }

// pass is Pass under a lease, unless its name is empty.
func (l *Loop) pass(ctx context.Context, lease string) (chosen int, err error) {
	l.saturated.Store(false)
	for limit := maxGroups; ; limit *= 4 {
		backlog, err := l.deps.Queue.Backlog(ctx, limit)
		if err != nil {
			return 0, err
		}
		l.backlog.Store(len(backlog.Waiting) > 0)
		if len(backlog.Waiting) == 0 {
			return 0, nil
		}
		use, err := l.usage(ctx, backlog)
		if err != nil {
			return 0, err
		}
		found, err := l.choose(ctx, backlog, use)
		if err != nil {
			return 0, err
		}
		l.saturated.Store(found.starved)
		if len(found.picks) > 0 {
			return l.admit(ctx, lease, found.picks)
		}
		if found.starved || !backlog.Truncated {
			return 0, nil
		}
	}
}

// admit makes what was picked live. Of groups of which more was picked than is known, the rest is read first.
func (l *Loop) admit(ctx context.Context, lease string, picks []pick) (chosen int, err error) {
	var unknown []*store.Waiting
	depth := 0
	for _, p := range picks {
		if p.n > len(p.group.IDs) {
			unknown = append(unknown, p.group)
			depth = max(depth, p.n)
		}
	}
	if len(unknown) > 0 {
		if err := l.deps.Queue.Members(ctx, unknown, depth); err != nil {
			return 0, err
		}
	}
	var queued []store.Queued
	for _, p := range picks {
		for _, id := range p.group.IDs[:min(p.n, len(p.group.IDs))] {
			queued = append(queued, store.Queued{RunID: p.group.RunID, ID: id})
		}
	}
	_, err = l.deps.Admit.Admit(ctx, lease, queued)
	return len(queued), err
}

// choose reads the oldest of each group that has room, and picks a batch.
func (l *Loop) choose(ctx context.Context, backlog *store.Backlog, use *usage) (choice, error) {
	var children []*store.Waiting
	open, starved := 0, false
	for i := range backlog.Waiting {
		group := &backlog.Waiting[i]
		switch {
		case !use.room(l.deps.Queues.Of(group.Queue), group):
			continue
		case use.free <= 0 && group.Runner == store.RunnerExecutor:
			starved = true
			continue
		}
		if open++; !group.Root {
			children = append(children, group)
		}
	}
	// Of many runs only the first actions can have their turn in this pass; there is no need to read more.
	depth := min(l.config.Batch, max(8, 2*l.config.Batch/max(open, 1)))
	if err := l.deps.Queue.Members(ctx, children, depth); err != nil {
		return choice{}, err
	}
	found := choose(l.deps.Queues, backlog.Waiting, use, l.config.Batch)
	found.starved = found.starved || starved
	return found, nil
}

// usage counts what is under way, as far as it matters for those that wait.
func (l *Loop) usage(ctx context.Context, backlog *store.Backlog) (*usage, error) {
	scope := l.scope(backlog)
	load, err := l.deps.Queue.Load(ctx, scope)
	if err != nil {
		return nil, err
	}
	use := &usage{free: l.config.MaxLive - backlog.Live, scarce: l.scarce(backlog), queues: map[*queues.Queue]*queueUse{}, runs: load.Runs}
	if scope.All {
		use.free = l.config.MaxLive
	}
	whole := map[int64]bool{} // runs that are counted in all queues
	for _, id := range scope.Runs {
		whole[id] = true
	}
	for _, part := range load.Parts {
		q := use.of(l.deps.Queues.Of(part.Queue))
		q.actions += part.Actions
		if part.Root {
			q.runs++
		}
		if scope.All {
			use.free -= part.Executor
		} else if !whole[part.RunID] {
			use.runs[part.RunID] += part.Actions
		}
	}
	return use, nil
}

// scope says what has to be counted. Parents that wait for children are told apart only when that matters, since it
// costs more: in queues with limits, in runs with limits, and everywhere when the installation is nearly full or runs
// that may have places already compete for them.
func (l *Loop) scope(backlog *store.Backlog) store.LoadScope {
	scope := store.LoadScope{All: l.scarce(backlog) || contested(backlog.Waiting)}
	counted := map[string]bool{}
	for _, group := range backlog.Waiting {
		q := l.deps.Queues.Of(group.Queue)
		if q.MaxActions > 0 || q.MaxRuns > 0 && group.Root {
			if q == l.deps.Queues.Default() {
				scope.All = true // it has every name that is no other's
			} else if !counted[q.Name] {
				counted[q.Name] = true
				scope.Queues = append(scope.Queues, q.Name)
			}
		}
		if group.RunLimit > 0 {
			scope.Runs = append(scope.Runs, group.RunID)
		}
	}
	return scope
}

// scarce tells that the next batch may fill the installation.
func (l *Loop) scarce(backlog *store.Backlog) bool {
	return backlog.Live+l.config.Batch > l.config.MaxLive
}

// contested tells that children, whose run may have places, wait beside actions of another run.
func contested(waiting []store.Waiting) bool {
	children, others := false, false
	for i := range waiting {
		children = children || !waiting[i].Root
		others = others || waiting[i].RunID != waiting[0].RunID
	}
	return children && others
}

// measure opens the writers' gate as far as the installation's limit allows, and shuts it while actions wait for that
// limit, so that nothing overtakes them.
func (l *Loop) measure(ctx context.Context) error {
	backlog, err := l.deps.Queue.Backlog(ctx, maxGroups)
	if err != nil {
		return err
	}
	l.backlog.Store(len(backlog.Waiting) > 0)
	open := l.config.MaxLive - backlog.Live
	switch {
	case len(backlog.Waiting) == 0:
	case open > l.config.Batch:
		open -= l.config.Batch // which is for those that wait
	default:
		use, err := l.usage(ctx, backlog)
		if err != nil {
			return err
		}
		for i := range backlog.Waiting {
			if group := &backlog.Waiting[i]; group.Runner == store.RunnerExecutor && use.room(l.deps.Queues.Of(group.Queue), group) {
				open = 0
				break
			}
		}
	}
	l.deps.Gate.Set(int64(open))
	return nil
}
