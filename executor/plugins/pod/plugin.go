package pod

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/failpoint"
)

// How long to wait before looking again.
const (
	// cacheLag is how long a cache may take to show a pod that was just made.
	cacheLag = 2 * time.Second
	// namePause is how long a pod waits for its name to become free.
	namePause = 500 * time.Millisecond
)

// Deps are what the plugin needs.
type Deps struct {
	// Cache reads pods from an informer.
	Cache client.Reader
	// Live reads pods from the API server.
	Live client.Reader
	// Writer makes and deletes pods.
	Writer client.Writer
	// Store has what arguments refer to: the inputs and earlier checkpoints.
	Store Store
	// Clock tells the time.
	Clock clock.Clock
}

// Store reads the object store, with the errors of blobstore.
type Store interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
}

// Plugin runs attempts as pods.
type Plugin struct {
	config  Config
	deps    Deps
	created created
	refused refusals
	// templates are those of the cluster that were read lately.
	templates templates
}

var (
	_ plugin.Plugin  = (*Plugin)(nil)
	_ plugin.Watcher = (*Plugin)(nil)
	_ plugin.Logged  = (*Plugin)(nil)
)

// New makes the plugin.
func New(config Config, deps Deps) (*Plugin, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Plugin{config: config, deps: deps, created: created{pods: map[types.NamespacedName]birth{}}, refused: refusals{tries: map[types.NamespacedName]int{}}}, nil
}

// Name implements plugin.Plugin.
func (p *Plugin) Name() string { return "pod" }

// Watches implements plugin.Watcher.
func (p *Plugin) Watches() []client.Object { return []client.Object{&corev1.Pod{}} }

// Advance implements plugin.Plugin. It makes the pod if it never was, and never twice: the name admits one pod, and a
// pod that was seen once and is gone is a lost attempt.
func (p *Plugin) Advance(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	key := podKey(attempt)
	pod := &corev1.Pod{}
	switch err := p.deps.Cache.Get(ctx, key, pod); {
	case err == nil:
		return p.judge(ctx, attempt, pod)
	case !apierrors.IsNotFound(err):
		return plugin.State{}, fmt.Errorf("read pod %s: %w", key.Name, err)
	}
	born, made := p.created.get(key, attempt.Task.UID)
	switch {
	case made && !born.seen && p.deps.Clock.Now().Sub(born.at) < cacheLag:
		// The cache has not seen it yet.
		return plugin.State{Phase: common.ActionPhase_ACTION_PHASE_QUEUED, Object: born.pod, Recheck: cacheLag}, nil
	case made || attempt.Known != "":
		return p.missing(ctx, attempt)
	case !attempt.MayLaunch:
		return plugin.State{}, nil
	}
	return p.make(ctx, attempt)
}

// missing decides about a pod that existed and is not in the cache; the cache may be behind.
func (p *Plugin) missing(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	pod := &corev1.Pod{}
	switch err := p.deps.Live.Get(ctx, podKey(attempt), pod); {
	case err == nil:
		return p.judge(ctx, attempt, pod)
	case apierrors.IsNotFound(err):
		return failed(failure.New(failure.DeletedExternally, "pod %s", podKey(attempt).Name)), nil
	default:
		return plugin.State{}, fmt.Errorf("read pod %s: %w", podKey(attempt).Name, err)
	}
}

func (p *Plugin) make(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	pod, bad, err := p.build(ctx, attempt)
	switch {
	case err != nil:
		return plugin.State{}, err
	case bad != nil:
		return failed(bad), nil
	}
	err = p.deps.Writer.Create(ctx, pod)
	failpoint.Here("pod.after-create")
	switch {
	case err == nil:
		p.refused.forget(podKey(attempt))
		p.created.add(podKey(attempt), attempt.Task.UID, birth{pod: pod.UID, at: p.deps.Clock.Now()})
		return p.observe(attempt, pod), nil
	case apierrors.IsAlreadyExists(err):
		return p.adopt(ctx, attempt)
	case failure.IsQuota(err):
		return p.awaitQuota(attempt, err), nil
	}
	if bad := failure.OfCreate(err); bad != nil {
		return failed(bad), nil
	}
	return plugin.State{}, fmt.Errorf("create pod %s: %w", pod.Name, err)
}

// adopt takes a pod that another process made for this very attempt.
func (p *Plugin) adopt(ctx context.Context, attempt *plugin.Attempt) (plugin.State, error) {
	pod := &corev1.Pod{}
	if err := p.deps.Live.Get(ctx, podKey(attempt), pod); err != nil {
		return plugin.State{}, fmt.Errorf("read pod %s: %w", podKey(attempt).Name, err)
	}
	return p.judge(ctx, attempt, pod)
}

// judge tells the state of a pod that has the attempt's name, if it is the attempt's pod.
func (p *Plugin) judge(ctx context.Context, attempt *plugin.Attempt, pod *corev1.Pod) (plugin.State, error) {
	if owns(attempt.Task, pod) {
		p.created.see(podKey(attempt), attempt.Task.UID, pod.UID)
		return p.observe(attempt, pod), nil
	}
	// The pod belonged to a predecessor of the TaskAction, or to a stranger. Ours are removed; for others we wait.
	if pod.Labels[v1.LabelManaged] == v1.ManagedValue && pod.DeletionTimestamp == nil {
		if err := p.delete(ctx, pod, isSidecar(pod, uploaderName)); err != nil {
			return plugin.State{}, err
		}
	}
	return plugin.State{
		Phase:   common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES,
		Reason:  "NameTaken",
		Message: fmt.Sprintf("another pod named %s has to go first", pod.Name),
		Recheck: namePause,
	}, nil
}

// Remove implements plugin.Plugin.
func (p *Plugin) Remove(ctx context.Context, attempt *plugin.Attempt) error {
	key := podKey(attempt)
	pod := &corev1.Pod{}
	born, made := p.created.get(key, attempt.Task.UID)
	p.created.remove(key, attempt.Task.UID)
	p.refused.forget(key)
	switch err := p.deps.Cache.Get(ctx, key, pod); {
	case err == nil:
		if !owns(attempt.Task, pod) {
			return nil
		}
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read pod %s: %w", key.Name, err)
	case made:
		// Perhaps not in the cache yet.
		pod.Namespace, pod.Name, pod.UID = key.Namespace, key.Name, born.pod
	default:
		return nil
	}
	return p.delete(ctx, pod, uploads(attempt.Template))
}

// delete stops a pod. One with a sidecar that carries outputs may take long to end by itself, but not when it is stopped.
func (p *Plugin) delete(ctx context.Context, pod *corev1.Pod, uploads bool) error {
	options := []client.DeleteOption{client.Preconditions{UID: &pod.UID}}
	if uploads {
		options = append(options, client.GracePeriodSeconds(p.stopGrace().Seconds()))
	}
	err := p.deps.Writer.Delete(ctx, pod, options...)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete pod %s: %w", pod.Name, err)
	}
	return nil
}

// stopGrace is how long a process may take to stop: the configured time, or Kubernetes' own.
func (p *Plugin) stopGrace() time.Duration {
	if p.config.TerminationGracePeriod > 0 {
		return p.config.TerminationGracePeriod
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

func podKey(attempt *plugin.Attempt) types.NamespacedName {
	return types.NamespacedName{Namespace: attempt.Task.Namespace, Name: v1.PodName(attempt.Task.Name, attempt.Number)}
}

func owns(task *v1.TaskAction, pod *corev1.Pod) bool {
	for _, owner := range pod.OwnerReferences {
		if owner.UID == task.UID {
			return true
		}
	}
	return false
}

func failed(f *failure.Failure) plugin.State {
	return plugin.State{Phase: common.ActionPhase_ACTION_PHASE_FAILED, Failure: f}
}
