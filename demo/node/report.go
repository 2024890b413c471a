package node

import (
	"context"
	"encoding/json"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/pods/podsecret"
)

// changed signals that the status has changed. It never blocks.
func (w *worker) changed() {
	select {
	case w.dirty <- struct{}{}:
	default:
	}
}

// report writes the pod's status whenever it has changed. Changes wait a moment for others, the end does not. It returns
// when the end is written, however long that takes, or when the pod or the node is gone.
func (w *worker) report(ctx context.Context) {
	var written corev1.PodStatus
	for {
		select {
		case <-w.dirty:
			if !w.settled(ctx) {
				return
			}
		case <-w.decided:
		case <-ctx.Done():
			return
		}
		status, final := w.status()
		if !reflect.DeepEqual(status, written) && !w.write(ctx, &status, &final) {
			return
		}
		if final {
			return
		}
		written = status
	}
}

// settled waits for the delay or the end, and returns false when the node stops.
func (w *worker) settled(ctx context.Context) bool {
	timer := w.n.clk.NewTimer(w.n.cfg.RunningDelay)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-w.decided:
	case <-ctx.Done():
		return false
	}
	return true
}

// write writes a status, with retries that use the newest one. It returns false if the pod is gone.
func (w *worker) write(ctx context.Context, status *corev1.PodStatus, final *bool) bool {
	pod := w.pod()
	for pause := retryPause(0); ; pause = retryPause(pause) {
		err := w.n.write(ctx, w.gone, func(ctx context.Context) error {
			*status, *final = w.status() // what it is now, after the wait for its turn
			return w.patch(ctx, pod, status)
		})
		switch {
		case err == nil:
			return true
		case apierrors.IsNotFound(err), ctx.Err() != nil:
			return false
		}
		w.complain(err, "writing a pod's status failed; retrying")
		if !w.n.after(pause, w.gone) {
			return false
		}
	}
}

func (w *worker) patch(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus) error {
	metadata := map[string]any{"uid": pod.UID}
	if port := w.givenPort(); port != "" {
		metadata["annotations"] = map[string]string{annotationPort: port}
	}
	status, err := podsecret.CleanStatus(ctx, w.n.secret, pod, status)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata, "status": status})
	if err != nil {
		return err
	}
	_, err = w.n.client.CoreV1().Pods(pod.Namespace).Patch(
		ctx, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}
