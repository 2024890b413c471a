package reconciler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
)

// Attach lets a manager run the reconciler. When the manager ends, so does what the reconciler does in the background.
func (r *Reconciler) Attach(mgr manager.Manager) error {
	lifetime, cancel := context.WithCancel(context.Background())
	r.lifetime = lifetime
	skipName := true // Tests run several in one process.
	build := ctrl.NewControllerManagedBy(mgr).Named("taskaction").
		// What only changes the status comes from ourselves.
		Watches(&v1.TaskAction{}, r.taskHandler(), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WatchesRawSource(r.wakeSource()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.config.Workers,
			SkipNameValidation:      &skipName,
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
				r.config.ErrorBackoff, r.config.MaxErrorBackoff),
		})
	owner := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1.TaskAction{}, handler.OnlyControllerOwner())
	for _, one := range r.deps.Plugins.All() {
		watcher, ok := one.(plugin.Watcher)
		if !ok {
			continue
		}
		for _, object := range watcher.Watches() {
			build = build.Watches(object, owner)
		}
	}
	if err := build.Complete(r); err != nil {
		cancel()
		return fmt.Errorf("build controller: %w", err)
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		defer r.work.Close()
		defer cancel()
		return r.sweepForever(ctx)
	}))
}

// taskHandler queues TaskActions, and notes those that were there before.
func (r *Reconciler) taskHandler() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(object client.Object, q queue) {
		q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(object)})
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			if task, ok := e.Object.(*v1.TaskAction); ok && e.IsInInitialList {
				r.memory.inherit(task)
			}
			add(e.Object, q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { add(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			r.memory.disinherit(e.Object.GetUID())
			add(e.Object, q)
		},
	}
}

// wakeSource hands the controller's queue to what happens in the background.
func (r *Reconciler) wakeSource() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.wake = func(key types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: key}) }
		return nil
	})
}
