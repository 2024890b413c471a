package operators

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// operator describes what is done for the objects of one kind.
type operator struct {
	// name selects it, instead is the name of the program whose work it does.
	name, instead string
	object        schema.GroupVersionKind
	plural        string
	// plan says what a cluster should be. It looks at the whole each time, and what it has asked for may not be visible yet.
	plan func(context.Context, *cluster) (plan, error)
	// finishes reports whether finish is called before an object is deleted; nil for none.
	finishes func(*unstructured.Unstructured) bool
	finish   func(context.Context, *cluster)
	// refuse is the status of an object that asks for what cannot be done.
	refuse func(c *cluster, why string) map[string]any
}

// refusedError says what an object asks for that cannot be done here.
type refusedError struct{ why string }

// Error implements error.
func (r *refusedError) Error() string { return r.why }

func (o operator) blank() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(o.object)
	return object
}

// plan is what changes in a cluster.
type plan struct {
	// create are pods that it lacks; what exists already is not created again.
	create []*corev1.Pod
	// remove are pods that it has no use for.
	remove []*corev1.Pod
	// status takes the place of the object's fields of these names.
	status map[string]any
	// again is when to look again although nothing changes; 0 for never.
	again time.Duration
}

// controller keeps the objects of one kind.
type controller struct {
	operator operator
	client   client.Client
	blocks   *blocks
	clk      clock.Clock
}

// Reconcile implements reconcile.Reconciler.
func (c *controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := c.operator.blank()
	if err := c.client.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if c.operator.finishes != nil && c.operator.finishes(object) {
		if done, err := c.finish(ctx, object); err != nil || done {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
	}
	if object.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil // The garbage collector deletes the pods.
	}
	base, err := c.blocks.of(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	pods, err := c.pods(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	all := &cluster{object: object, insteadOf: c.operator.instead, pods: pods, base: base, now: c.clk.Now(), find: c.finder(object)}
	next, err := c.operator.plan(ctx, all)
	var refused *refusedError
	if errors.As(err, &refused) {
		next, err = plan{status: c.operator.refuse(all, refused.why)}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("%s %s: %w", object.GetKind(), request, err)
	}
	return ctrl.Result{RequeueAfter: next.again}, c.apply(ctx, object, next)
}

// finalizer keeps an object until finish was called for it.
const finalizer = "operators.flyte.org/finish"

// finish makes sure that finish is called before the object is deleted. Done means that the object is being deleted.
func (c *controller) finish(ctx context.Context, object *unstructured.Unstructured) (done bool, err error) {
	old := object.DeepCopy()
	switch {
	case object.GetDeletionTimestamp() == nil && !controllerutil.AddFinalizer(object, finalizer):
		return false, nil
	case object.GetDeletionTimestamp() != nil:
		if !controllerutil.ContainsFinalizer(object, finalizer) {
			return true, nil
		}
		c.operator.finish(ctx, &cluster{object: object, now: c.clk.Now(), find: c.finder(object)})
		controllerutil.RemoveFinalizer(object, finalizer)
		done = true
	}
	return done, c.client.Patch(ctx, object, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{}))
}

func (c *controller) finder(object *unstructured.Unstructured) func(context.Context, schema.GroupVersionKind, string) (*unstructured.Unstructured, error) {
	return func(ctx context.Context, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(kind)
		return found, c.client.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: name}, found)
	}
}

// pods are those of an object, by name.
func (c *controller) pods(ctx context.Context, object *unstructured.Unstructured) ([]*corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := c.client.List(ctx, list, client.InNamespace(object.GetNamespace()), client.MatchingLabels{labelObject: string(object.GetUID())}); err != nil {
		return nil, err
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods, nil
}

func (c *controller) apply(ctx context.Context, object *unstructured.Unstructured, next plan) error {
	// The status comes first: what it says of pods that are deleted cannot be found out afterwards.
	if err := c.write(ctx, object, next.status); err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, pod := range next.remove {
		if pod.DeletionTimestamp != nil {
			continue
		}
		if err := c.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	for _, pod := range next.create {
		if err := c.client.Create(ctx, pod); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("create pod %s: %w", pod.Name, err)
		}
	}
	return nil
}

func (c *controller) write(ctx context.Context, object *unstructured.Unstructured, status map[string]any) error {
	now, _, _ := unstructured.NestedMap(object.Object, "status")
	changed := map[string]any{}
	for name, value := range status {
		if !reflect.DeepEqual(now[name], value) {
			changed[name] = value
		}
	}
	if len(changed) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": object.GetUID()}, "status": changed})
	if err != nil {
		return err
	}
	return c.client.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, body))
}
