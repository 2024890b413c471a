package reconciler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/kube/drift"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Reconciler runs TaskActions to completion.
type Reconciler struct {
	config    Config
	deps      Deps
	reporter  attempts.Reporter
	memory    memory
	wake      func(types.NamespacedName)
	synced    atomic.Bool // all TaskActions that existed at the start are known
	cleanups  *cleanupQueue
	templates *templates
	finishes  chan struct{}   // a slot for each end that may be carried out at once
	follows   chan struct{}   // the same for logs that are read to their end
	lifetime  context.Context //nolint:containedctx // of background work
	work      background
	current   *reconciles
	repairs   *drift.Repairs
	journal   *drift.Journal
}

// New returns a reconciler. Attach connects it to a manager.
func New(config Config, deps Deps) (*Reconciler, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if deps.Slots == nil {
		deps.Slots = NewSlots(config)
	}
	repairs, err := drift.NewRepairs(deps.Meter)
	if err != nil {
		return nil, err
	}
	r := &Reconciler{
		repairs: repairs,
		journal: drift.NewJournal(deps.Clock, deps.Logger),
		current: newReconciles(deps.Clock, deps.Slots),
		config:  config,
		deps:    deps,
		memory:  memory{entries: map[types.NamespacedName]*entry{}, adopted: map[types.UID]struct{}{}, stopping: map[*entry]struct{}{}},
		reporter: attempts.Reporter{
			Source: "executor", Sink: deps.Sink, Assignments: deps.Assignments, Clock: deps.Clock,
			Budget: verdict.Budget{
				MaxSystemFailures: config.MaxSystemFailures, SystemBackoff: config.SystemBackoff, MaxSystemBackoff: config.MaxSystemBackoff,
			},
		},
		finishes: make(chan struct{}, maxFinishes),
		follows:  make(chan struct{}, maxFollows),
		lifetime: context.Background(),
		wake:     func(types.NamespacedName) {},
	}
	r.templates = newTemplates()
	r.cleanups = newCleanupQueue(deps.Clock, &r.work)
	return r, nil
}

// Live is the number of TaskActions in memory, here and in plugins.
func (r *Reconciler) Live() int {
	live := r.memory.size()
	for _, one := range r.deps.Plugins.All() {
		if remembers, ok := one.(plugin.Rememberer); ok {
			live += remembers.Live()
		}
	}
	return live
}

// Longest is the reconcile that has run longest; false when none runs.
func (r *Reconciler) Longest() (Running, bool) { return r.current.longest() }

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (result reconcile.Result, err error) {
	ctx, end, err := r.current.begin(ctx, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	defer end()
	task := &v1.TaskAction{}
	if err := r.deps.Cache.Get(ctx, request.NamespacedName, task); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, r.taskDeleted(ctx, request.NamespacedName)
		}
		return reconcile.Result{}, fmt.Errorf("read task action: %w", err)
	}
	if task.DeletionTimestamp != nil {
		return reconcile.Result{}, r.taskDeleted(ctx, request.NamespacedName)
	}
	concerns(ctx, actionOf(task))
	entry := r.memory.load(request.NamespacedName, task)
	ctx = r.logger(task).WithContext(ctx)
	defer func() {
		if entry.dirty {
			err = errors.Join(err, r.writeStatus(ctx, task, entry))
		}
	}()
	return r.step(ctx, task, entry)
}

// step does what must precede work on an attempt.
func (r *Reconciler) step(ctx context.Context, task *v1.TaskAction, entry *entry) (reconcile.Result, error) {
	if entry.busy() {
		return reconcile.Result{}, nil
	}
	if pause := r.applyAnswer(ctx, task, entry); pause > 0 {
		return reconcile.Result{RequeueAfter: pause}, nil
	}
	if entry.finished {
		r.finish(task, entry)
		return reconcile.Result{}, nil
	}
	if entry.dirty {
		return reconcile.Result{}, nil // Written next; then the new attempt begins.
	}
	if wait := r.pauseLeft(task, entry); wait > 0 {
		defer entry.markObserved()
		return r.waitOut(task, entry, wait), nil
	}
	return r.advance(ctx, task, entry)
}

// advance works on the current attempt: it asks the plugin for its state, judges it, and reports.
func (r *Reconciler) advance(ctx context.Context, task *v1.TaskAction, entry *entry) (reconcile.Result, error) {
	attempt := r.attempt(task, entry)
	state, outputs, err := r.look(ctx, entry, attempt)
	if err != nil {
		return r.advanceFailed(ctx, task, entry, attempt, err), nil
	}
	if entry.dirty {
		return reconcile.Result{}, nil // The plugin's word is written first. The write wakes us.
	}
	entry.transientErrors = 0
	defer entry.markObserved()
	if state.Phase != common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES { // which a cleanup may provide
		r.cleanups.progressed()
	}
	switch state.Phase {
	case common.ActionPhase_ACTION_PHASE_UNSPECIFIED:
		r.reportProbe(task, entry, attempt.Number)
		return reconcile.Result{}, nil
	case common.ActionPhase_ACTION_PHASE_FAILED:
		r.reportLost(task, entry, attempt, state)
		return reconcile.Result{}, nil
	case common.ActionPhase_ACTION_PHASE_SUCCEEDED:
		r.reportSuccess(task, entry, attempt, state, outputs)
		return reconcile.Result{}, nil
	default:
		r.reportProgress(task, entry, attempt, state)
		return reconcile.Result{RequeueAfter: r.nextLook(entry, state)}, nil
	}
}

// ask asks the plugin of an attempt for its state.
func (r *Reconciler) ask(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	defer doing(ctx, fmt.Sprintf("advancing attempt %d", attempt.Number))()
	one := r.deps.Plugins.For(attempt)
	state, err := one.Advance(ctx, attempt)
	if size := len(state.Word); err == nil && size > v1.MaxPluginWord {
		return plugin.State{}, fmt.Errorf("plugin %s: the word of the attempt has %d bytes; the maximum is %d", one.Name(), size, v1.MaxPluginWord)
	}
	return state, err
}

// waitOut waits out the pause before an attempt, in which nothing can happen but the deadline of the action.
func (r *Reconciler) waitOut(task *v1.TaskAction, entry *entry, wait time.Duration) reconcile.Result {
	attempt := r.attempt(task, entry)
	state := r.withTimeouts(entry, attempt, plugin.State{Phase: common.ActionPhase_ACTION_PHASE_QUEUED})
	if state.Failure != nil {
		r.reportLost(task, entry, attempt, state)
		return reconcile.Result{}
	}
	if state.Recheck > 0 {
		wait = min(wait, state.Recheck)
	}
	return reconcile.Result{RequeueAfter: wait}
}

// advanceFailed handles an attempt whose state is unknown: its time may have expired nevertheless.
func (r *Reconciler) advanceFailed(ctx context.Context, task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, err error) reconcile.Result {
	wait := r.backOff(ctx, task, entry, attempt, err)
	if entry.busy() {
		return reconcile.Result{RequeueAfter: wait}
	}
	// Only the deadline counts in every state.
	state := r.withTimeouts(entry, attempt, plugin.State{Phase: common.ActionPhase_ACTION_PHASE_INITIALIZING})
	if state.Failure != nil {
		r.reportLost(task, entry, attempt, state)
		return reconcile.Result{}
	}
	if state.Recheck > 0 {
		wait = min(wait, state.Recheck)
	}
	return reconcile.Result{RequeueAfter: wait}
}

// attempt describes the current attempt to plugins.
func (r *Reconciler) attempt(task *v1.TaskAction, entry *entry) *plugin.Attempt {
	if entry.template == nil && entry.invalid == nil {
		entry.template, entry.invalid = r.decode(task)
	}
	number := entry.current(task)
	result := &plugin.Attempt{
		Task: task, Template: entry.template, Number: number,
		Dir:       blobpath.AttemptDir(task.Spec.RunOutputBase, task.Spec.Action, uint32(number)), //nolint:gosec // from 1
		MayLaunch: !entry.adopted || entry.confirmedLive || entry.acked.attempt == number,

		SystemFailures: entry.status.SystemFailures, Trace: r.traceOf(task, number),
	}
	if number > 1 {
		result.PreviousDir = blobpath.AttemptDir(task.Spec.RunOutputBase, task.Spec.Action, uint32(number-1))
	}
	if entry.status.Attempt == number {
		result.Known, result.Word = entry.status.ObjectUID, entry.status.Plugin
	}
	entry.attempt = result
	return result
}

func (r *Reconciler) decode(task *v1.TaskAction) (*core.TaskTemplate, *failure.Failure) {
	template, err := r.templates.decode(task.Spec.TaskTemplate)
	switch {
	case err != nil:
		return nil, failure.New(failure.BadTaskSpecification, "task template: %v", err)
	case len(task.Spec.TaskTemplate) == 0:
		return nil, failure.New(failure.BadTaskSpecification, "the task template is empty")
	case task.Spec.RunOutputBase == "":
		return nil, failure.New(failure.BadTaskSpecification, "the run has no place for outputs")
	}
	return template, nil
}

// nextLook returns when to look again even if nothing changes.
func (r *Reconciler) nextLook(entry *entry, state plugin.State) time.Duration {
	next := r.config.Resync - r.config.Resync/8 + rand.N(r.config.Resync/4) //nolint:gosec // spreads load
	if state.Recheck > 0 {
		next = min(next, state.Recheck)
	}
	if due := r.statusDue(entry, state); due > 0 {
		next = min(next, due)
	}
	return next
}

// pauseLeft returns how long the current attempt must still wait. When that would be longer than any pause of the action,
// the clock was set back, and the attempt does not wait.
func (r *Reconciler) pauseLeft(task *v1.TaskAction, entry *entry) time.Duration {
	if entry.status.NotBefore == nil {
		return 0
	}
	left := entry.status.NotBefore.Sub(r.deps.Clock.Now())
	if left <= 0 || left > r.longestPause(task, entry) {
		return 0
	}
	return left
}

func (r *Reconciler) logger(task *v1.TaskAction) zerolog.Logger {
	return r.deps.Logger.With().Str("project", task.Spec.Project).Str("domain", task.Spec.Domain).
		Str("run", task.Spec.Run).Str("action", task.Spec.Action).Logger()
}
