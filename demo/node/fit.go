package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/demo/node/capacity"
	"github.com/flyte-binary/flyte-binary/demo/node/devices"
)

// reasons say why a pod does not fit.
type reasons struct {
	lacking  []corev1.ResourceName
	selector bool   // the pod wants a node with other labels
	never    bool   // it would not fit on the empty node either
	detail   string // numbers, for a pod that never fits
}

func (r reasons) none() bool { return len(r.lacking) == 0 && !r.selector }

// only reports whether the given reasons are the only ones, and there is one.
func (r reasons) only(names ...corev1.ResourceName) bool {
	if r.none() || r.selector {
		return false
	}
	return !slices.ContainsFunc(r.lacking, func(name corev1.ResourceName) bool { return !slices.Contains(names, name) })
}

// message uses the wording of the Kubernetes scheduler. It has no number that keeps changing.
func (r reasons) message() string {
	var parts []string
	if r.selector {
		parts = append(parts, "1 node(s) didn't match Pod's node affinity/selector")
	}
	for _, name := range r.lacking {
		if name == corev1.ResourcePods {
			parts = append(parts, "1 Too many pods")
		} else {
			parts = append(parts, "1 Insufficient "+string(name))
		}
	}
	text := "0/1 nodes are available: " + strings.Join(parts, ", ") + "."
	if r.detail != "" {
		text += " " + r.detail
	}
	return text
}

// why compares a pod with the free resources. Called with the lock held.
func (b *binder) why(c *candidate) reasons {
	var r reasons
	wishes := b.n.cfg.wishes(c.pod, c.request)
	labels := b.n.labels()
	for key, value := range c.pod.Spec.NodeSelector {
		ofDevices := len(wishes) > 0 && (key == b.n.cfg.AcceleratorLabel || key == b.n.cfg.PartitionLabel)
		if labels[key] != value && !ofDevices {
			r.selector, r.never = true, true
		}
	}
	var details []string
	for _, wish := range wishes {
		if b.n.devices.Free(wish) < wish.Count {
			r.lacking = append(r.lacking, wish.Maker.Resource())
		}
		if len(b.n.devices.Fitting(wish)) < wish.Count {
			r.never = true
			details = append(details, b.n.devices.Never(wish))
		}
	}
	for name, wanted := range c.request {
		if wanted.IsZero() || isDevice(wishes, name) {
			continue
		}
		offered := b.n.capacity[name]
		free := offered.DeepCopy()
		free.Sub(b.used[name])
		if wanted.Cmp(free) <= 0 {
			continue
		}
		r.lacking = append(r.lacking, name)
		if wanted.Cmp(offered) > 0 {
			r.never = true
			details = append(details, larger(name, wanted, offered))
		}
	}
	slices.Sort(r.lacking)
	slices.Sort(details)
	r.detail = strings.Join(details, " ")
	return r
}

// isDevice reports whether a resource is one of those of wishes.
func isDevice(wishes []devices.Wish, name corev1.ResourceName) bool {
	return slices.ContainsFunc(wishes, func(wish devices.Wish) bool { return wish.Maker.Resource() == name })
}

// larger explains a request that exceeds the whole node.
func larger(name corev1.ResourceName, wanted, offered resource.Quantity) string {
	if offered.IsZero() {
		return fmt.Sprintf("The pod requests %s of %s, which this machine does not have.", wanted.String(), name)
	}
	return fmt.Sprintf("The pod requests %s of %s and this machine offers %s in all, so it will never start here.",
		wanted.String(), name, offered.String())
}

// reserve is the part of free memory that relief leaves alone.
const reserve = 256 << 20

// enoughMemory reports whether the memory for a pod is really free. It is false if that is unknown.
func enoughMemory(request corev1.ResourceList) bool {
	free, ok := capacity.FreeMemory()
	return ok && free-reserve > request.Memory().Value()
}

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
