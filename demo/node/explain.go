package node

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// explain writes why a pod waits, as a condition and as an event.
func (b *binder) explain(pod *corev1.Pod, message string) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
			LastTransitionTime: metav1.NewTime(b.n.clk.Now()),
		}}},
	})
	if err != nil {
		b.n.log.Error().Err(err).Msg("a pod's condition cannot be encoded")
		return
	}
	_, err = b.n.client.CoreV1().Pods(pod.Namespace).Patch(
		b.n.ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && b.n.ctx.Err() == nil {
		b.n.log.Warn().Err(err).Str("pod", pod.Namespace+"/"+pod.Name).Msg("cannot write the condition of a waiting pod")
		return
	}
	b.n.recorder.Event(pod, corev1.EventTypeWarning, "FailedScheduling", message)
}
