package admission

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/limits"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// maxGroups bounds how many people with waiting roots, and runs with waiting children, of each queue a pass reads first. It
// reads more only when none of their actions may start.
const maxGroups = 5000

// Pass admits one batch of actions that may start now and returns how many it chose; 0 means that none may start.
func (l *Loop) Pass(ctx context.Context) (chosen int, err error) { return l.pass(ctx, "") }

// pass is Pass under a lease, unless its name is empty.
func (l *Loop) pass(ctx context.Context, lease string) (chosen int, err error) {
	l.saturated.Store(false)
	for limit := maxGroups; ; limit *= 4 {
		backlog, err := l.deps.Queue.Backlog(ctx, limit, l.config.Batch)
		if err != nil {
			return 0, err
		}
		l.backlog.Store(len(backlog.Waiting) > 0)
		l.ceiling.look(l.deps.Clock.Now(), backlog.Live)
		if len(backlog.Waiting) == 0 {
			l.turns.forget()
			return 0, nil
		}
		load, err := l.load(ctx, backlog)
		if err != nil {
			return 0, err
		}
		found, err := l.choose(ctx, backlog, load)
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

// admit makes the picked actions live. For groups with more picked actions than known ids, it reads the other ids
// first.
func (l *Loop) admit(ctx context.Context, lease string, picks []pick) (chosen int, err error) {
	var unknown []*worklists.Waiting
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
			run := p.group.RunID
			if p.group.Root {
				run = id
			}
			queued = append(queued, store.Queued{RunID: run, ID: id})
		}
	}
	if err := l.ask(ctx, queued); err != nil {
		return 0, err
	}
	_, err = l.deps.Admit.Admit(ctx, lease, queued)
	return len(queued), err
}

// ask adds what actions ask of clusters, if there is more than one to choose from.
func (l *Loop) ask(ctx context.Context, queued []store.Queued) error {
	if l.deps.Places == nil {
		return nil
	}
	if _, sole := l.deps.Places.Sole(); sole {
		return nil
	}
	ids := make([]int64, len(queued))
	for i := range queued {
		ids[i] = queued[i].ID
	}
	asked, err := l.deps.Asks.Of(ctx, ids)
	for i := range queued {
		queued[i].Asks = asked[queued[i].ID]
	}
	return err
}

// choose reads the oldest of each group that has room, and picks a batch.
func (l *Loop) choose(ctx context.Context, backlog *worklists.Backlog, load *limits.Load) (choice, error) {
	var children []*worklists.Waiting
	open, starved := 0, false
	for i := range backlog.Waiting {
		group := &backlog.Waiting[i]
		if d := load.Decide(l.action(group)); !d.Admits() {
			starved = starved || d.Limit == limits.Installation
			continue
		}
		if open++; !group.Root {
			children = append(children, group)
		}
	}
	// With many runs, only their first actions can be picked in this pass, so it reads no more.
	depth := min(l.config.Batch, max(8, 2*l.config.Batch/max(open, 1)))
	if err := l.deps.Queue.Members(ctx, children, depth); err != nil {
		return choice{}, err
	}
	found := choose(l.deps.Queues, backlog.Waiting, load, l.turns, l.scarce(backlog), l.config.Batch)
	found.starved = found.starved || starved
	return found, nil
}

// load counts the live actions that matter for the waiting ones.
func (l *Loop) load(ctx context.Context, backlog *worklists.Backlog) (*limits.Load, error) {
	scope := l.scope(backlog)
	counted, err := l.deps.Queue.Load(ctx, scope)
	if err != nil {
		return nil, err
	}
	return limits.New(l.deps.Queues, limits.Snapshot{MaxLive: l.Limit(), Live: backlog.Live, Scope: scope, Counted: counted}), nil
}

// scope says what to count. Parents that wait for children are distinguished only where that matters, because it costs
// more: in queues with limits, in runs with limits, in queues where owners compete, and everywhere when the installation is
// nearly full or runs that may have places already compete for it.
func (l *Loop) scope(backlog *worklists.Backlog) worklists.LoadScope {
	scope := worklists.LoadScope{All: l.scarce(backlog) || contested(backlog.Waiting)}
	owners := map[*queues.Queue]limits.Person{}
	for i := range backlog.Waiting {
		action := l.action(&backlog.Waiting[i])
		limits.Cover(&scope, l.deps.Queues, action)
		owner, known := owners[action.Queue]
		if !known {
			owners[action.Queue] = action.Owner()
		} else if owner != action.Owner() {
			scope.Owners = true
			limits.CoverQueue(&scope, l.deps.Queues, action.Queue)
		}
	}
	return scope
}

// action is an action of a group, in the form that package limits takes.
func (l *Loop) action(group *worklists.Waiting) limits.Action {
	return actionOf(l.deps.Queues.Of(group.Queue), group)
}

// scarce reports whether the next batch may fill the installation.
func (l *Loop) scarce(backlog *worklists.Backlog) bool {
	return backlog.Live+l.config.Batch > l.Limit()
}

// contested reports whether children, whose run may have places, compete with actions of another run.
func contested(waiting []worklists.Waiting) bool {
	children, others := false, false
	for i := range waiting {
		children = children || !waiting[i].Root
		others = others || waiting[i].RunID != waiting[0].RunID
	}
	return children && others
}

// measure opens the writer's gate as far as the installation's limit allows, less what a pass may admit at the same time: the
// two together never exceed the limit. So only passes give away the last places, in the order of the queue.
func (l *Loop) measure(ctx context.Context) error {
	taken := l.deps.Gate.Taken()
	backlog, err := l.deps.Queue.Backlog(ctx, maxGroups, 1)
	if err != nil {
		return err
	}
	l.backlog.Store(len(backlog.Waiting) > 0)
	limit := l.ceiling.look(l.deps.Clock.Now(), backlog.Live)
	l.deps.Gate.Set(int64(limit-backlog.Live-l.config.Batch), taken)
	return nil
}
