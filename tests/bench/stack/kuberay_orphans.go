package stack

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// sweepEvery is how often orphans are looked for.
const sweepEvery = 2 * time.Second

// orphans are objects that KubeRay creates from what it read before their owner was deleted. Only a sweep finds them: the deletion of
// the owner deleted what was there then.
type orphans struct {
	objects  dynamic.Interface
	children []children
}

// children are the objects of a resource, as an informer has them.
type children struct {
	resource schema.GroupVersionResource
	store    cache.Store
}

// owners are the resources of the kinds that own children here.
func owners() map[string]schema.GroupVersionResource {
	return map[string]schema.GroupVersionResource{
		"RayJob": rayJobResource, "RayCluster": rayClusterResource, "Job": {Group: "batch", Version: "v1", Resource: "jobs"},
	}
}

// delete deletes orphans until ctx ends.
func (o *orphans) delete(ctx context.Context) {
	for Pause(ctx, sweepEvery) == nil {
		for _, of := range o.children {
			for _, object := range of.store.List() {
				if child, err := meta.Accessor(object); err == nil && o.isOrphan(ctx, child) {
					background := metav1.DeletePropagationBackground
					// If it fails, the next sweep finds it again.
					_ = o.objects.Resource(of.resource).Namespace(child.GetNamespace()).
						Delete(ctx, child.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
				}
			}
		}
	}
}

// isOrphan asks the API server about the owners that no informer has.
func (o *orphans) isOrphan(ctx context.Context, child metav1.Object) bool {
	owner := metav1.GetControllerOf(child)
	if owner == nil || child.GetDeletionTimestamp() != nil {
		return false
	}
	resource, known := owners()[owner.Kind]
	if !known {
		return false
	}
	for _, of := range o.children {
		if of.resource != resource {
			continue
		}
		if found, exists, err := of.store.GetByKey(child.GetNamespace() + "/" + owner.Name); err == nil && exists {
			parent, err := meta.Accessor(found)
			if err == nil && parent.GetUID() == owner.UID {
				return false
			}
		}
	}
	parent, err := o.objects.Resource(resource).Namespace(child.GetNamespace()).Get(ctx, owner.Name, metav1.GetOptions{})
	return apierrors.IsNotFound(err) || err == nil && parent.GetUID() != owner.UID
}
