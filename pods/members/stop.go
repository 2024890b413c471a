package members

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Stop deletes those of the pods whose processes still run. The garbage collector would delete them too when their owner is
// gone, but later, and with the long grace of a pod that uploads outputs.
func (r *Reader) Stop(ctx context.Context, pods []corev1.Pod, options ...client.DeleteOption) error {
	var failed error
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		own := append([]client.DeleteOption{client.Preconditions{UID: &pod.UID}}, options...)
		if err := r.deps.Writer.Delete(ctx, pod, own...); client.IgnoreNotFound(err) != nil {
			failed = errors.Join(failed, fmt.Errorf("delete pod %s: %w", pod.Name, err))
		}
	}
	return failed
}
