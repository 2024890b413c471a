package store

import (
	"context"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/phasecounts"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// operation is one change. It is planned and applied again when a transaction has to be repeated.
type operation interface {
	// plan says which rows apply needs.
	plan(p *plan)
	// apply changes rows of the batch. When it returns an error it has changed nothing.
	apply(b *batch) error
}

// plan collects what the operations of a batch want loaded.
type plan struct {
	runs     map[ident.Run]struct{}
	runIDs   map[int64]struct{}
	rows     map[ident.Action]struct{}
	subtrees map[ident.Action]struct{} // with everything unfinished below, since they may end
	sweeps   map[ident.Action]struct{} // tops of subtrees, with a portion of their unfinished children
	ids      map[int64]struct{}        // of actions, with the runs in runIDs
	queues   map[string]struct{}       // that actions are added to
	lease    string                    // that this process must hold; empty for none
	created  map[ident.Run]struct{}    // runs that are to be created
	newRows  int
}

func (p *plan) run(run ident.Run) { p.runs[run] = struct{}{} }

func (p *plan) row(action ident.Action) {
	p.run(action.Run)
	p.rows[action] = struct{}{}
}

func (p *plan) subtree(action ident.Action) {
	p.row(action)
	p.subtrees[action] = struct{}{}
}

// batch is the state on which the operations of one transaction decide. Root rows are locked, so nothing else changes it.
type batch struct {
	now        time.Time
	renewPlans bool          // the plans of the connection are to be discarded first
	open       int64         // how many actions may be admitted at once
	silence    time.Duration // after which a run of RunnerClient has not reported for too long; 0 for never
	queues     *queues.Set
	sole       string           // the only cluster that is known; empty for none
	places     *placement.Round // decides among clusters; nil if there is nothing to decide
	placed     []placed
	depths     map[*queues.Queue]int // how many wait, of the queues with a limit that are added to
	leased     bool                  // this process holds the lease
	ids        []int64
	runs       map[ident.Run]*run
	byID       map[int64]*run
	order      []*run // those that changed, in the order of their first change
	newSpecs   []spec
	webhooks   []*row // new conditions with a webhook
	uses       []artifactUse
	reads      []*row // new actions whose inputs are to be read for artifacts
	errs       []error
	changes    int               // the events of the batch so far
	changing   []context.Context // of the operations that changed something
	report     state.Report      // the report that is decided now
	// portion is the largest number of actions that may be swept, or aborted with the tops of their subtrees.
	portion int
	// portions are the children to sweep now, by their parent; swept is how many of them each parent may have.
	portions map[ident.Action][]*row
	swept    int
	// specs is the generation of the stored specs, read when rows are to be made.
	specs int64
	// going are runs that are being deleted, whose names are not free yet.
	going map[ident.Run]struct{}
}

type spec struct {
	digest, body []byte
	kind         schema.SpecKind
}

// run is what is loaded of one run.
type run struct {
	root     *row
	rows     map[string]*row
	children map[string][]*row
	events   []schema.Event
	ended    []*row            // reached an end in this batch; may have been reopened since
	tally    phasecounts.Tally // what the batch does to the counts of phases
	changed  []*row            // in the order of their first change
}

// row is an action row with the batch's bookkeeping.
type row struct {
	schema.Root
	run     *run
	isNew   bool
	isDirty bool
	unread  bool // there may be unfinished actions below it that were not loaded
	wasLive bool
	// loadedSeq is the last event before this batch.
	loadedSeq int64
	wasHold   schema.Hold
	// wasCluster ran it before this batch, if it was live.
	wasCluster string
	wasWake    *time.Time
	wasPhase   int16        // before this batch; 0 for a new row
	was        stand        // before this batch; zero for a new row
	endedIn    state.Report // the report of this batch that ended it; state.Committed for one that had ended before
	begins     *time.Time   // of a new attempt, when it does not at once
	ends       *time.Time   // of built-in actions that were just started
	endsBy     schema.Due   // and what it is then
}

func (r *row) live() bool { return r.AdmittedAt != nil && r.EndedAt == nil }

func (r *row) ident() ident.Action {
	return ident.Action{Run: ident.Run{Project: r.Project, Domain: r.Domain, Name: r.RunName}, Name: r.Name}
}

// standing is where the row stands, as the state machine sees it.
func (r *row) standing() state.Standing {
	at := state.Standing{Position: state.Position{Attempt: r.Attempt, Phase: r.Phase, Version: r.Version}}
	if state.Terminal(r.Phase) {
		at.EndedIn = r.endedIn
	}
	return at
}

func (r *row) ref() schema.Ref {
	return schema.Ref{ID: r.ID, RunID: r.RunID, Project: r.Project, Domain: r.Domain, RunName: r.RunName, Name: r.Name, Runner: r.Runner, Cluster: r.Cluster}
}

// decide lets every operation decide, then applies the consequences of actions that ended.
func (b *batch) decide(requests []*request) {
	b.errs = make([]error, len(requests))
	for i, r := range requests {
		b.report++ // An operation is a report, or begins with one.
		before := b.changes
		if b.errs[i] = r.Value.apply(b); b.changes > before {
			b.changing = append(b.changing, r.Ctx)
		}
	}
	b.report = state.Committed // what follows is no one's report
	for _, run := range b.order {
		b.abortOrphans(run)
	}
	b.scheduleAll()
}

// find returns a loaded or new row, or nil.
func (b *batch) find(action ident.Action) *row {
	run := b.runs[action.Run]
	if run == nil {
		return nil
	}
	return run.rows[action.Name]
}

// attach adds a row to the batch; its run must be loaded.
func (run *run) attach(r *row) {
	r.run = run
	run.rows[r.Name] = r
	if r.ParentName != nil {
		run.children[*r.ParentName] = append(run.children[*r.ParentName], r)
	}
}

func newRun(root *row) *run {
	run := &run{root: root, rows: map[string]*row{}, children: map[string][]*row{}}
	run.attach(root)
	return run
}

// begin puts a new row to its first position, where its result says whether another run has it. It comes before
// everything that depends on the phase.
func (r *row) begin() {
	at := state.Recorded(workflow.ActionType(r.ActionType), r.Phase)
	r.Attempt, r.Phase, r.Version = at.Attempt, at.Phase, at.Version
}

// create adds a new row with its first event.
func (b *batch) create(r *row) {
	r.ID = b.ids[0]
	b.ids = b.ids[1:]
	r.isNew = true
	r.Cluster = b.recordedIn(r)
	if r.ParentName == nil {
		r.RunID = r.ID
		run := newRun(r)
		b.runs[r.ident().Run] = run
		b.byID[r.ID] = run
	} else {
		run := b.runs[r.ident().Run]
		r.RunID = run.root.ID
		run.attach(r)
	}
	if r.Phase == state.Paused {
		r.run.root.PausedCount++
	}
	r.run.tally[r.Phase]++
	b.record(r, r.Notes, nil)
}

// next judges an observation by the operation that decides now.
func (b *batch) next(r *row, observed state.Position) state.Verdict {
	return state.Next(r.standing(), observed, b.report)
}

// in is the position of another phase of the same attempt.
func (r *row) in(phase state.Phase) state.Position {
	return state.Position{Attempt: r.Attempt, Phase: phase, Version: r.Version}
}

// move puts an action where a verdict says, and reports whether it did. Times and results are the caller's. Only move
// changes the phase, attempt and version of a row (a test of the tree checks it), and only package state makes verdicts
// that move anything.
func (b *batch) move(r *row, verdict state.Verdict) bool {
	to, ok := verdict.Apply(r.standing())
	if !ok {
		return false
	}
	root := r.run.root
	if r.Phase == state.Paused {
		root.PausedCount--
		b.touch(root)
	}
	if to.Phase == state.Paused {
		root.PausedCount++
		b.touch(root)
	}
	r.run.tally.Move(r.Phase, to.Phase)
	r.Attempt, r.Phase, r.Version, r.endedIn = to.Attempt, to.Phase, to.Version, to.EndedIn
	if state.Terminal(to.Phase) {
		r.run.ended = append(r.run.ended, r)
		r.WakeAt, r.Due, r.Hold = nil, schema.DueNothing, schema.HoldNone
	} else {
		r.EndedAt = nil
	}
	return true
}

// record appends an event for the row as it is now.
func (b *batch) record(r *row, event, failure []byte) {
	root := r.run.root
	root.LastSeq++
	r.LastSeq = root.LastSeq
	r.UpdatedAt = b.now
	b.changes++
	b.touch(root)
	b.touch(r)
	r.run.events = append(r.run.events, schema.Event{
		RunID: root.ID, Seq: root.LastSeq, ActionID: r.ID,
		Attempt: r.Attempt, Phase: r.Phase, Version: r.Version,
		RecordedAt: b.now, Event: event, Error: failure,
	})
}

// touch marks a row to be written.
func (b *batch) touch(r *row) {
	if r.isDirty {
		return
	}
	r.isDirty = true
	if len(r.run.changed) == 0 {
		b.order = append(b.order, r.run)
	}
	r.run.changed = append(r.run.changed, r)
}

// keep makes a spec be stored.
func (b *batch) keep(s spec) {
	if len(s.digest) > 0 {
		b.newSpecs = append(b.newSpecs, s)
	}
}

// admit makes a queued action live when the gate lets it.
func (b *batch) admit(r *row) {
	if !r.queued() || !b.direct(r, r.run.root) {
		return
	}
	if b.makeLive(r) && r.Runner.OnCluster() {
		b.open--
	}
}

// makeLive admits an action and chooses the cluster that runs it. It reports whether a cluster takes the action. Only this sets
// admitted_at; its callers have asked the limits.
func (b *batch) makeLive(r *row) bool {
	if !b.place(r) {
		return false
	}
	r.AdmittedAt = &b.now
	return true
}

// unfinished lists what is not finished below an action, parents first.
func (run *run) unfinished(name string) []*row {
	var found []*row
	next := []string{name}
	for len(next) > 0 {
		for _, child := range run.children[next[0]] {
			if !state.Terminal(child.Phase) {
				found = append(found, child)
				next = append(next, child.Name)
			}
		}
		next = next[1:]
	}
	return found
}

func (b *batch) dirty() bool { return len(b.order) > 0 }

func (b *batch) changedRuns() []int64 {
	ids := make([]int64, len(b.order))
	for i, run := range b.order {
		ids[i] = run.root.ID
	}
	return ids
}

// liveChange compares the live set before and after.
func (b *batch) liveChange() LiveChange {
	var change LiveChange
	for _, run := range b.order {
		for _, r := range run.changed {
			live := r.live()
			moved := live && r.wasLive && r.Cluster != r.wasCluster
			if r.wasLive && (!live || moved) {
				ended := r.ref()
				ended.Cluster = r.wasCluster
				change.Ended = append(change.Ended, ended)
			}
			if live && (!r.wasLive || moved) {
				change.Admitted = append(change.Admitted, r.ref())
			}
			if at := r.WakeAt; at != nil && (change.Due.IsZero() || at.Before(change.Due)) {
				change.Due = *at
			}
		}
		if slices.ContainsFunc(run.changed, func(r *row) bool { return r.Hold.OfCache() && r.Hold != r.wasHold }) {
			change.Held = append(change.Held, run.root.ID)
		}
		if slices.ContainsFunc(run.changed, (*row).queued) || run.root.MaxConcurrency > 0 {
			change.Queued = append(change.Queued, run.root.ID)
		}
	}
	return change
}

// placesFreed is the change in the number of free places of the installation; it may be negative.
func (b *batch) placesFreed() (n int64) {
	for _, run := range b.order {
		for _, r := range run.changed {
			switch live := r.live(); {
			case !r.Runner.OnCluster():
			case live && !r.wasLive:
				n--
			case !live && r.wasLive:
				n++
			}
		}
	}
	return n
}

// queued reports whether admission must consider the row.
func (r *row) queued() bool {
	return r.ActionType == schema.ActionTask && r.Phase == state.Queued && r.AdmittedAt == nil && r.Hold == schema.HoldNone && r.Runner.Admitted()
}

// notAfterNow clamps a reported time between a lower bound and now.
func (b *batch) notAfterNow(reported *time.Time, notBefore time.Time) time.Time {
	at := b.now
	if reported != nil && reported.Before(at) {
		at = *reported
	}
	if at.Before(notBefore) {
		at = notBefore
	}
	return at
}
