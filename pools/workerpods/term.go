package workerpods

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podsecret"
)

// maxReason is how many bytes of a reason are reported.
const maxReason = 4000

// term is the time in which this replica leads.
type term struct {
	*Service
	pods    listers.PodLister
	synced  func() bool
	changed chan struct{}

	mu       sync.Mutex
	complete bool                               // GUARDED_BY(mu): all wanted workers are known
	wanted   map[string]*enginev1.DesiredWorker // GUARDED_BY(mu)

	told map[string]string // what was reported last, by worker; of work alone
}

func (t *term) wake() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// want replaces the workers that should run.
func (t *term) want(workers map[string]*enginev1.DesiredWorker) {
	t.mu.Lock()
	t.wanted, t.complete = maps.Clone(workers), true
	t.mu.Unlock()
	t.wake()
}

// work compares pods with what is wanted, after each change.
func (t *term) work(ctx context.Context) {
	for {
		if clock.Await(ctx, t.deps.Clock, resync, t.changed) != nil {
			return
		}
		// The pause before the next pass is settle, so an outage makes 20 tries a second at most.
		if err := t.compare(ctx); err != nil && ctx.Err() == nil {
			t.deps.Logger.Warn().Err(err).Msg("comparing worker pods failed; retrying")
			t.wake()
		}
		if clock.Sleep(ctx, t.deps.Clock, settle) != nil {
			return
		}
	}
}

// compare creates the pods that are missing, deletes those that should not be, and reports the others.
func (t *term) compare(ctx context.Context) error {
	t.mu.Lock()
	wanted, complete := t.wanted, t.complete
	t.mu.Unlock()
	if !complete || !t.synced() {
		return nil
	}
	found, err := t.pods.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list the pods of workers: %w", err)
	}
	have := map[string]*corev1.Pod{}
	for _, pod := range found {
		id := pod.Labels[labelWorker]
		have[id] = pod
		if _, ok := wanted[id]; !ok {
			if err := t.remove(ctx, pod); err != nil {
				return err
			}
		}
	}
	report := &enginev1.ReportWorkersRequest{}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		observed := &enginev1.ObservedWorker{Id: id}
		if pod := have[id]; pod != nil {
			if pod, err = podsecret.Clean(ctx, podsecret.From(t.client), pod); err != nil {
				return err
			}
			observed = t.observe(wanted[id], pod)
		} else if err := t.create(ctx, wanted[id]); err != nil {
			observed.Reason = clip.Head(err.Error(), maxReason)
			observed.Ended = failure.Of(err) != nil
		}
		if text := fmt.Sprint(observed.GetEnded(), observed.GetReason()); t.told[id] != text && (observed.GetEnded() || observed.GetReason() != "" || t.told[id] != "") {
			report.Workers = append(report.Workers, observed)
			t.told[id] = text
		}
	}
	maps.DeleteFunc(t.told, func(id string, _ string) bool { return wanted[id] == nil })
	if len(report.GetWorkers()) == 0 {
		return nil
	}
	if _, err := t.deps.Fleet.ReportWorkers(ctx, report); err != nil {
		// Everything is reported again in the next pass.
		clear(t.told)
		return fmt.Errorf("report workers: %w", err)
	}
	return nil
}

// observe says what the cluster knows of a worker.
func (t *term) observe(worker *enginev1.DesiredWorker, pod *corev1.Pod) *enginev1.ObservedWorker {
	observed := &enginev1.ObservedWorker{Id: worker.GetId()}
	attempt, _, err := t.attempt(worker)
	if err != nil {
		return observed
	}
	state := t.states.Observe(attempt, pod)
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		observed.Ended, observed.Reason = true, "it has ended"
	case state.Failure != nil:
		// Only a process that is known to have ended has lost its work; others may continue.
		observed.Ended = pod.Status.Phase == corev1.PodFailed || state.StartedAt.IsZero()
		observed.Reason = clip.Head(state.Failure.Message, maxReason)
		observed.OutOfMemory = observed.GetEnded() && state.Failure.Reason == failure.OOMKilled
	case state.Phase != common.ActionPhase_ACTION_PHASE_RUNNING:
		observed.Reason = clip.Head(state.Message, maxReason)
	}
	return observed
}

// name is the name of a worker's objects.
func name(id string) string { return "worker-" + id }

// attempt is what the pod of a worker is built like.
func (t *term) attempt(worker *enginev1.DesiredWorker) (*plugin.Attempt, string, error) {
	run := runOf(worker)
	place, err := t.deps.Namespace.Place(run)
	if err != nil {
		return nil, "", err
	}
	task := t.deps.Describe(worker.GetLike(), place.Namespace)
	task.Name = name(worker.GetId())
	task.Labels = t.labels(worker)
	template := proto.CloneOf(worker.GetLike().GetTask().GetSpec().GetTaskTemplate())
	if template == nil {
		template = &core.TaskTemplate{}
	}
	return &plugin.Attempt{Task: task, Template: template, Number: 1, Dir: task.Spec.RunOutputBase, MayLaunch: true}, place.Namespace, nil
}

// remove deletes the objects of a worker. The rest follows its owner. The precondition spares a pod of the same name
// that was created meanwhile.
func (t *term) remove(ctx context.Context, pod *corev1.Pod) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	if err := t.client.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the secret of a worker: %w", err)
	}
	if pod.DeletionTimestamp != nil {
		return nil
	}
	if err := t.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the pod of a worker: %w", err)
	}
	return nil
}
