package insight

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/conditions"
	"github.com/flyte-binary/flyte-binary/runs/limits"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/assignees"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

const (
	// passing is how long an action may wait without being called waiting: each waits for a moment before it starts.
	passing = 2 * time.Second
	// mostAsked is how many waits for clusters, workers and connectors a call explains; the message of the others says only where they are.
	mostAsked = 20
	// mostHolders is how many of the runs are named that have the places.
	mostHolders = 3
)

// RunStandingReader reads what runs wait for; lists.Reader does.
type RunStandingReader interface {
	RunStandings(ctx context.Context, ids []int64) (map[int64]lists.RunStanding, error)
	NamedRuns(ctx context.Context, ids []int64) (map[int64]ident.Run, error)
}

// RunWaits explains what unfinished runs wait for. For many runs it reads the load of the queues once, and not how many go before each.
type RunWaits struct {
	Runs      RunStandingReader
	Waits     *Waits
	Assignees AssigneeReader
	Clock     clock.Clock
}

// runWait is what is known of one run.
type runWait struct {
	waits   []*insightv1.RunWait
	waiting bool
}

// Of explains runs by their ids; counts are the numbers of their actions by phase, nil if they are not known.
func (s *RunWaits) Of(ctx context.Context, counts map[int64][]int32) (map[int64]runWait, error) {
	ids := make([]int64, 0, len(counts))
	for id := range counts {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return map[int64]runWait{}, nil
	}
	slices.Sort(ids)
	standings, err := s.Runs.RunStandings(ctx, ids)
	if err != nil {
		return nil, err
	}
	e := &explaining{RunWaits: s, now: s.Clock.Now()}
	if e.asked, err = s.Assignees.Of(ctx, paused(standings)); err != nil {
		return nil, err
	}
	found := make(map[int64]runWait, len(ids))
	for _, id := range ids {
		run := runWait{waiting: onlyWaits(standings[id], counts[id])}
		for i := range standings[id].Waiting {
			wait, err := e.explain(ctx, &standings[id].Waiting[i], counts[id])
			if err != nil {
				return nil, err
			}
			if wait != nil {
				run.waits = append(run.waits, wait)
			}
		}
		run.waiting = run.waiting && len(run.waits) > 0
		found[id] = run
	}
	return found, e.nameHolders(ctx)
}

// paused are the ids of the actions that wait for a person.
func paused(standings map[int64]lists.RunStanding) (ids []int64) {
	for _, run := range standings {
		for i := range run.Waiting {
			if run.Waiting[i].Phase == state.Paused {
				ids = append(ids, run.Waiting[i].ID)
			}
		}
	}
	return ids
}

// onlyWaits reports whether nothing of a run works: each running action waits for others. Without counts, only a run that has not begun
// is known to wait.
func onlyWaits(run lists.RunStanding, counts []int32) bool {
	if counts == nil {
		return len(run.Waiting) == 1 && run.Waiting[0].ParentName == nil
	}
	return int(counts[state.Running]) == run.Parents
}

// explaining is one call: it reads the load of the queues once.
type explaining struct {
	*RunWaits
	now       time.Time
	load      *limits.Load
	parts     []worklists.LoadPart
	asked     map[int64]assignees.Assignee // by the ids of the actions
	explained int                          // how many waits other services were asked about
	holders   map[*insightv1.RunWait][]worklists.LoadPart
}

// explain returns nil for an action that does not wait, or waits only for a moment.
func (e *explaining) explain(ctx context.Context, a *lists.Standing, counts []int32) (*insightv1.RunWait, error) {
	forPerson := a.Phase == state.Paused
	if !forPerson && e.now.Sub(a.CreatedAt) < passing {
		return nil, nil //nolint:nilnil // it waits for a moment
	}
	wait := &insightv1.RunWait{ActionId: ident.Action{Run: ident.Run{Project: a.Project, Domain: a.Domain, Name: a.RunName}, Name: a.Name}.Proto()}
	var err error
	switch {
	case a.AdmittedAt == nil && a.Hold == schema.HoldNone && !forPerson:
		err = e.queueWait(ctx, wait, a)
	case forPerson || e.explained < mostAsked || !e.asks(a):
		if e.asks(a) {
			e.explained++
		}
		wait.Wait, err = e.Waits.Of(ctx, a)
	default:
		wait.Wait = &insightv1.Wait{Queue: e.Waits.Queues.Of(a.Queue).Name, Since: timestamppb.New(a.CreatedAt)}
		if a.AdmittedAt == nil {
			wait.Wait.Cause = insightv1.WaitCause_WAIT_CAUSE_PLACEMENT
			say(wait.GetWait(), sentence.New("no cluster has room for it"))
		} else {
			err = clusterWait(wait.GetWait(), a)
		}
	}
	if one, ok := e.asked[a.ID]; ok && forPerson {
		wait.Assignee = conditions.Message(one)
	}
	if err != nil || wait.GetWait() == nil || !forPerson && e.now.Sub(wait.GetWait().GetSince().AsTime()) < passing {
		return nil, err
	}
	wait.Wait.Ahead = 0
	switch {
	case counts == nil:
	case forPerson:
		wait.Actions = uint32(counts[state.Paused]) //nolint:gosec // a number
	default:
		wait.Actions = uint32(counts[state.Queued] + counts[state.WaitingForResources] + counts[state.Initializing]) //nolint:gosec // a number
	}
	return wait, nil
}

// asks reports whether the explanation of a wait asks other services or computes a placement.
func (e *explaining) asks(a *lists.Standing) bool {
	return a.AdmittedAt == nil && a.Hold != schema.HoldCache || a.AdmittedAt != nil && (a.Runner == schema.RunnerConnector || a.Runner.Explained())
}

// queueWait says which limit holds a queued action back, by the same rules as admission, and who has the places.
func (e *explaining) queueWait(ctx context.Context, wait *insightv1.RunWait, a *lists.Standing) error {
	if err := e.readLoad(ctx); err != nil {
		return err
	}
	queue := e.Waits.Queues.Of(a.Queue)
	w := &insightv1.Wait{Queue: queue.Name, Since: timestamppb.New(a.CreatedAt)}
	wait.Wait = w
	decision := e.load.Decide(limits.Action{
		Queue: queue, Project: a.Project, Person: a.CreatedBySubject, RunID: a.RunID, RunLimit: int(a.RunLimit), Root: a.ParentName == nil, Executor: a.Runner.OnCluster(),
	})
	if decision.Admits() {
		turnWait(w, queue.Name)
		return nil
	}
	limitWait(w, decision, 0)
	if decision.Limit != limits.Run {
		e.holders[wait] = e.mostIn(queue, decision.Limit == limits.Installation, a.RunID)
	}
	return nil
}

func (e *explaining) readLoad(ctx context.Context) error {
	if e.load != nil {
		return nil
	}
	scope := worklists.LoadScope{All: true}
	counted, err := e.Waits.Queue.Load(ctx, scope)
	if err != nil {
		return err
	}
	most := e.Waits.MaxLive
	if e.Waits.Ceiling != nil {
		most = e.Waits.Ceiling()
	}
	e.load = limits.New(e.Waits.Queues, limits.Snapshot{MaxLive: most, Scope: scope, Counted: counted})
	e.parts, e.holders = counted.Parts, map[*insightv1.RunWait][]worklists.LoadPart{}
	return nil
}

// mostIn are the runs with the most places of a queue, or of the installation, apart from the run that waits.
func (e *explaining) mostIn(queue *queues.Queue, everywhere bool, without int64) []worklists.LoadPart {
	var parts []worklists.LoadPart
	for _, part := range e.parts {
		if part.RunID != without && (everywhere || e.Waits.Queues.Of(part.Queue) == queue) {
			parts = append(parts, part)
		}
	}
	slices.SortStableFunc(parts, func(a, b worklists.LoadPart) int { return b.Actions - a.Actions })
	return parts[:min(len(parts), mostHolders)]
}

// nameHolders adds the names of the runs that have places, of those that the caller may see.
func (e *explaining) nameHolders(ctx context.Context) error {
	var ids []int64
	for _, parts := range e.holders {
		for _, part := range parts {
			ids = append(ids, part.RunID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	names, err := e.Runs.NamedRuns(ctx, ids)
	if err != nil {
		return err
	}
	for wait, parts := range e.holders {
		for _, part := range parts {
			if run, seen := names[part.RunID]; seen {
				wait.Holders = append(wait.Holders, &insightv1.PlaceHolder{RunId: run.Proto(), Places: uint32(part.Actions)}) //nolint:gosec // a number
			}
		}
	}
	return nil
}
