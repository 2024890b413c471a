package reconciler

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Attach lets a manager run the reconciler. The reconciler's background work ends with the manager.
func (r *Reconciler) Attach(mgr manager.Manager) error {
	lifetime, cancel := context.WithCancel(context.Background())
	r.lifetime = lifetime
	skipName := true // Tests run several in one process.
	build := ctrl.NewControllerManagedBy(mgr).Named("taskaction").
		// Changes of the status alone are our own.
		WatchesRawSource(r.taskSource(mgr)).
		WatchesRawSource(r.wakeSource()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.config.Workers + r.storeWaits(),
			SkipNameValidation:      &skipName,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				r.config.ErrorBackoff, r.config.MaxErrorBackoff),
		})
	mapped := func(find func(client.Object) (types.NamespacedName, bool)) handler.EventHandler {
		return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
			if key, found := find(object); found {
				return []reconcile.Request{{NamespacedName: key}}
			}
			return nil
		})
	}
	for _, one := range r.deps.Plugins.All() {
		watcher, ok := one.(plugin.Watcher)
		if !ok {
			continue
		}
		for _, watch := range watcher.Watches() {
			find := watch.TaskAction
			if find == nil {
				find = controllingTaskAction
			}
			build = build.Watches(watch.Object, mapped(find))
		}
	}
	if err := build.Complete(r); err != nil {
		cancel()
		return fmt.Errorf("build controller: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		defer r.work.Close()
		defer cancel()
		r.work.Go(func() { r.current.watch(ctx, r.config.SlowAfter, r.deps.Logger) })
		r.work.Go(func() { r.journal.Run(ctx) })
		return r.sweepForever(ctx)
	}))
}

// controllingTaskAction returns the TaskAction that controls an object. controller-runtime's own handler for this asks its REST
// mapper whether TaskActions have namespaces, for each event of each pod, which was 7 % of what the server allocated.
func controllingTaskAction(object client.Object) (types.NamespacedName, bool) {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil || owner.Kind != v1.Kind {
		return types.NamespacedName{}, false
	}
	if group, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || group.Group != v1.GroupVersion.Group {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name}, true
}

// storeWaits is how many reconciles may wait for the object store alongside those that work.
func (r *Reconciler) storeWaits() int {
	if r.deps.OneShard {
		return maxStoreWaits / ident.Shards
	}
	return maxStoreWaits
}

// taskSource watches TaskActions and notes when all that exist have been handed to the reconciler.
func (r *Reconciler) taskSource(mgr manager.Manager) source.Source {
	return &taskSource{
		SyncingSource: source.Kind[client.Object](mgr.GetCache(), &v1.TaskAction{}, r.taskHandler(), predicate.GenerationChangedPredicate{}),
		synced:        func() { r.synced.Store(true) },
	}
}

// taskSource calls synced when the controller has waited for it.
type taskSource struct {
	source.SyncingSource
	synced func()
}

var _ source.SyncingSource = (*taskSource)(nil)

// WaitForSync implements source.SyncingSource.
func (s *taskSource) WaitForSync(ctx context.Context) error {
	if err := s.SyncingSource.WaitForSync(ctx); err != nil {
		return err
	}
	s.synced()
	return nil
}

// taskHandler queues TaskActions, and adopts those that existed before.
func (r *Reconciler) taskHandler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(object client.Object, q queue) {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if task, ok := e.Object.(*v1.TaskAction); ok && e.IsInInitialList {
				r.memory.adopt(task)
			}
			add(e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { add(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			r.memory.drop(e.Object.GetUID())
			add(e.Object, q)
		},
	}
}

// wakeSource hands the controller's queue to background work.
func (r *Reconciler) wakeSource() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.wake = func(key types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: key}) }
		return nil
	})
}
