package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// watch follows the pods of this node and those that wait for one. It returns when both lists are complete.
func (n *Node) watch(ctx context.Context) error {
	mine := n.informer(fields.OneTermEqualSelector("spec.nodeName", n.cfg.Name))
	waiting := n.informer(fields.AndSelectors(
		fields.OneTermEqualSelector("spec.nodeName", ""), fields.OneTermEqualSelector("status.phase", string(corev1.PodPending)),
	))
	known, err := mine.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { n.bound(object) },
		UpdateFunc: func(_, object any) { n.bound(object) },
		DeleteFunc: func(object any) {
			if pod, ok := tombstone(object); ok {
				n.forget(pod.UID)
				n.binder.release(pod.UID)
			}
		},
	})
	if err != nil {
		return err
	}
	n.loops.Go(func() { mine.RunWithContext(n.ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), known.HasSynced) {
		return errors.Join(errors.New("the pods of the node could not be listed"), ctx.Err())
	}
	n.clean()
	// Only now is it known what the node has room for.
	queued, err := waiting.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				n.binder.enqueue(pod)
			}
		},
		UpdateFunc: func(_, object any) {
			if pod, ok := object.(*corev1.Pod); ok {
				n.binder.enqueue(pod)
			}
		},
		DeleteFunc: func(object any) {
			if pod, ok := tombstone(object); ok {
				n.binder.remove(pod.UID)
			}
		},
	})
	if err != nil {
		return err
	}
	n.loops.Go(func() { waiting.RunWithContext(n.ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), queued.HasSynced) {
		return errors.Join(errors.New("waiting pods could not be listed"), ctx.Err())
	}
	return nil
}

// bound handles a change of a pod of this node, bound by any scheduler.
func (n *Node) bound(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	if !terminal(pod) {
		n.binder.claim(pod)
	}
	n.observe(pod)
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func (n *Node) informer(selector fields.Selector) cache.SharedInformer {
	source := cache.NewFilteredListWatchFromClient(n.client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
		func(o *metav1.ListOptions) { o.FieldSelector = selector.String() })
	informer := cache.NewSharedInformer(source, &corev1.Pod{}, 0)
	// Managed fields are half of each object and never read. No error is possible before the informer starts.
	_ = informer.SetTransform(func(object any) (any, error) {
		if pod, ok := object.(*corev1.Pod); ok {
			pod.ManagedFields = nil
		}
		return object, nil
	})
	return informer
}

// clean removes the files of pods that are gone from the API, unless a process of theirs still runs: then the pod was
// deleted while no node ran, and the process ends first.
func (n *Node) clean() {
	entries, err := os.ReadDir(n.podsDir())
	if err != nil {
		n.log.Warn().Err(err).Msg("the files of earlier pods cannot be read")
		return
	}
	for _, entry := range entries {
		n.mu.Lock()
		_, known := n.workers[types.UID(entry.Name())]
		n.mu.Unlock()
		if known {
			continue
		}
		dir := filepath.Join(n.podsDir(), entry.Name())
		n.loops.Go(func() { n.endOrphan(dir) })
	}
	if err := n.mounter.Sweep(); err != nil {
		n.log.Warn().Err(err).Msg("cannot remove mount paths of earlier pods")
	}
}
