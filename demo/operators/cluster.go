package operators

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/demo/node/podnet"
)

// labelObject is the uid of the object to which a pod belongs.
const labelObject = "operators.flyte.org/object"

// cluster is an object with what exists of it.
type cluster struct {
	object *unstructured.Unstructured
	// insteadOf is the operator whose work is done here.
	insteadOf string
	pods      []*corev1.Pod
	base      netip.Addr // before the addresses of its members
	now       time.Time

	// find reads another object of its namespace.
	find func(ctx context.Context, kind schema.GroupVersionKind, name string) (*unstructured.Unstructured, error)

	members []member // all that it has when it is complete
}

// member is a place in a cluster. Several pods may take it, one after the other.
type member struct {
	// hostname is the name of its pods, or the beginning of them.
	hostname string
	// names are those by which others find it, in addition to hostname.
	names []string
}

// add adds a member and returns its number.
func (c *cluster) add(hostname string, names ...string) int {
	c.members = append(c.members, member{hostname: hostname, names: names})
	return len(c.members) - 1
}

// address is that of a member.
func (c *cluster) address(number int) string { return addressAt(c.base, number+1).String() }

// fits refuses clusters that are larger than a block of addresses.
func (c *cluster) fits() error {
	if len(c.members) > maxPods {
		return &refusedError{fmt.Sprintf("it has %d pods; on this machine a cluster has at most %d", len(c.members), maxPods)}
	}
	return nil
}

// service lists the names of a service or of a name below it.
func (c *cluster) service(name string) []string {
	short := name + "." + c.object.GetNamespace()
	return []string{name, short, short + ".svc", short + ".svc.cluster.local"}
}

// pod is the one of this name, nil if there is none.
func (c *cluster) pod(name string) *corev1.Pod {
	for _, pod := range c.pods {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

// build returns the pod of a member. Its template is a field of the object.
func (c *cluster) build(number int, name string, template map[string]any) (*corev1.Pod, error) {
	read := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(template, read); err != nil {
		return nil, fmt.Errorf("read the template of pod %s: %w", name, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.object.GetNamespace(), Name: name, Labels: maps.Clone(read.Labels), Annotations: maps.Clone(read.Annotations),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c.object, c.object.GroupVersionKind())},
	}, Spec: read.Spec}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Labels[labelObject], pod.Annotations[podnet.AnnotationAddress] = string(c.object.GetUID()), c.address(number)
	pod.Annotations[podnet.AnnotationInsteadOf] = c.insteadOf
	pod.Spec.Hostname = c.members[number].hostname
	for i, one := range c.members {
		pod.Spec.HostAliases = append(pod.Spec.HostAliases, corev1.HostAlias{IP: c.address(i), Hostnames: append([]string{one.hostname}, one.names...)})
	}
	return pod, nil
}

// give gives variables to the containers of a pod, in place of those of the same names.
func give(pod *corev1.Pod, variables ...corev1.EnvVar) {
	for i := range pod.Spec.Containers {
		own := &pod.Spec.Containers[i]
		kept := make([]corev1.EnvVar, 0, len(own.Env)+len(variables))
		kept = append(kept, variables...) // first: others may refer to them
		for _, old := range own.Env {
			if !has(variables, old.Name) {
				kept = append(kept, old)
			}
		}
		own.Env = kept
	}
}

func has(variables []corev1.EnvVar, name string) bool {
	for _, one := range variables {
		if one.Name == name {
			return true
		}
	}
	return false
}

// ended reports whether a pod runs no more.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func failed(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed }

// field is a map in the object; empty if there is none.
func field(object map[string]any, path ...string) map[string]any {
	found, _, _ := unstructured.NestedMap(object, path...)
	return found
}

// number is a number in the object, or another one.
func number(object map[string]any, otherwise int64, path ...string) int64 {
	found, ok, _ := unstructured.NestedInt64(object, path...)
	if !ok {
		return otherwise
	}
	return found
}

func text(object map[string]any, path ...string) string {
	found, _, _ := unstructured.NestedString(object, path...)
	return found
}

func flag(object map[string]any, path ...string) bool {
	found, _, _ := unstructured.NestedBool(object, path...)
	return found
}

// conditions returns the object's conditions with one that is true now.
func (c *cluster) conditions(kind, reason, message string) []any {
	old, _, _ := unstructured.NestedSlice(c.object.Object, "status", "conditions")
	var result []any
	for _, one := range old {
		if fields, _ := one.(map[string]any); fields["type"] != kind {
			result = append(result, one)
		} else if fields["status"] == "True" {
			return old
		}
	}
	return append(result, map[string]any{
		"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": c.now.UTC().Format(time.RFC3339),
	})
}

// condition reports whether one is true.
func (c *cluster) condition(kind string) bool {
	all, _, _ := unstructured.NestedSlice(c.object.Object, "status", "conditions")
	for _, one := range all {
		if fields, _ := one.(map[string]any); fields["type"] == kind && fields["status"] == "True" {
			return true
		}
	}
	return false
}

// missing are those of the pods that do not exist.
func missing(c *cluster, pods []*corev1.Pod) []*corev1.Pod {
	var result []*corev1.Pod
	for _, pod := range pods {
		if c.pod(pod.Name) == nil {
			result = append(result, pod)
		}
	}
	return result
}

// endOf is when a pod ended.
func endOf(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range pod.Status.ContainerStatuses {
		if end := status.State.Terminated; end != nil && end.FinishedAt.After(last) {
			last = end.FinishedAt.Time
		}
	}
	return last
}
