package operators

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// kind is one kind of objects.
type kind struct {
	name     string
	resource schema.GroupVersionResource
	// members are the pods that an object should have.
	members func(*unstructured.Unstructured) []member
	// settled reports whether the status has an end.
	settled func(*unstructured.Unstructured) bool
	// succeeded and failed are the status of an end. A failure names the pod to blame, and whether it was deleted.
	succeeded func() map[string]any
	failed    func(pod string, deleted bool) map[string]any
}

// Resources are those of all kinds.
func Resources() []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	for _, one := range kinds("") {
		all = append(all, one.resource)
	}
	return all
}

func kinds(program string) []kind {
	return []kind{jobSets(), pyTorchJobs(), rayJobs(program)}
}

// judge is the status of an object that has come to an end; nil when it has not.
func (k kind) judge(members []member, pods map[string]*corev1.Pod, made map[string]bool) map[string]any {
	done := true
	for _, one := range members {
		pod := pods[one.name]
		switch {
		case pod == nil && made[one.name] && one.vital:
			return k.failed(one.name, true)
		case pod != nil && pod.Status.Phase == corev1.PodFailed:
			return k.failed(one.name, pod.DeletionTimestamp != nil)
		}
		if one.lead && (pod == nil || pod.Status.Phase != corev1.PodSucceeded) {
			done = false
		}
	}
	if done {
		return k.succeeded()
	}
	return nil
}

// jobSets gives each index a pod. Every one has to succeed, and none is replaced.
func jobSets() kind {
	return conditioned(kind{
		name: "JobSet", resource: schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"},
		members: func(object *unstructured.Unstructured) (members []member) {
			jobs, _, _ := unstructured.NestedSlice(object.Object, "spec", "replicatedJobs")
			for _, one := range jobs {
				job, _ := one.(map[string]any)
				count, _, _ := unstructured.NestedInt64(job, "template", "spec", "completions")
				template, _, _ := unstructured.NestedMap(job, "template", "spec", "template")
				for i := range int(count) {
					index := strconv.Itoa(i)
					members = append(members, member{
						name: fmt.Sprintf("%s-workers-0-%s", object.GetName(), index), template: template, lead: true, vital: true,
						labels: map[string]string{batchv1.JobCompletionIndexAnnotation: index, "jobset.sigs.k8s.io/restart-attempt": "0"},
						env:    follows(i, script.MemberEnds),
					})
				}
			}
			return members
		},
	}, "Completed")
}

// pyTorchJobs ends with its master, and replaces pods that are deleted.
func pyTorchJobs() kind {
	return conditioned(kind{
		name: "PyTorchJob", resource: schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1", Resource: "pytorchjobs"},
		members: func(object *unstructured.Unstructured) (members []member) {
			for n, role := range []string{"Master", "Worker"} {
				count, _, _ := unstructured.NestedInt64(object.Object, "spec", "pytorchReplicaSpecs", role, "replicas")
				template, _, _ := unstructured.NestedMap(object.Object, "spec", "pytorchReplicaSpecs", role, "template")
				for i := range int(count) {
					short := strings.ToLower(role)
					members = append(members, member{
						name: fmt.Sprintf("%s-%s-%d", object.GetName(), short, i), template: template, lead: n == 0,
						labels: map[string]string{"training.kubeflow.org/replica-index": strconv.Itoa(i), "training.kubeflow.org/replica-type": short},
						env:    follows(n, script.MemberStays),
					})
				}
			}
			return members
		},
	}, "Succeeded")
}

// conditioned completes a kind whose ends are conditions.
func conditioned(k kind, success string) kind {
	condition := func(name, reason, message string) map[string]any {
		return map[string]any{"conditions": []any{map[string]any{
			"type": name, "status": "True", "reason": reason, "message": message, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
		}}}
	}
	k.settled = func(object *unstructured.Unstructured) bool {
		all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		return len(all) > 0
	}
	k.succeeded = func() map[string]any { return condition(success, k.name+"Succeeded", "all is done") }
	k.failed = func(pod string, _ bool) map[string]any {
		return condition("Failed", k.name+"Failed", "first failed pod: "+pod)
	}
	return k
}

// rayJobs has a head and workers, then a pod that submits the program, which runs in that pod here. The program is lost with
// the head; workers are replaced.
func rayJobs(program string) kind {
	status := func(deployment, job, reason, message string) map[string]any {
		return map[string]any{"jobDeploymentStatus": deployment, "jobStatus": job, "reason": reason, "message": message}
	}
	return kind{
		name: "RayJob", resource: schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayjobs"},
		members: func(object *unstructured.Unstructured) []member {
			node := []string{program}
			head, _, _ := unstructured.NestedMap(object.Object, "spec", "rayClusterSpec", "headGroupSpec", "template")
			members := []member{{name: object.GetName() + "-head", template: head, command: node, vital: true, env: follows(1, script.MemberStays)}}
			groups, _, _ := unstructured.NestedSlice(object.Object, "spec", "rayClusterSpec", "workerGroupSpecs")
			for n, one := range groups {
				group, _ := one.(map[string]any)
				count, _, _ := unstructured.NestedInt64(group, "replicas")
				template, _, _ := unstructured.NestedMap(group, "template")
				for i := range int(count) {
					members = append(members, member{
						name: fmt.Sprintf("%s-worker-%d-%d", object.GetName(), n, i), template: template, command: node, env: follows(1, script.MemberStays),
					})
				}
			}
			submits, _, _ := unstructured.NestedMap(object.Object, "spec", "submitterPodTemplate")
			entrypoint, _, _ := unstructured.NestedString(object.Object, "spec", "entrypoint")
			return append(members, member{
				name: object.GetName() + "-submitter", template: submits, command: []string{"/bin/sh", "-c", "exec " + entrypoint},
				lead: true, vital: true, last: true,
			})
		},
		settled: func(object *unstructured.Unstructured) bool {
			deployment, _, _ := unstructured.NestedString(object.Object, "status", "jobDeploymentStatus")
			return deployment != ""
		},
		succeeded: func() map[string]any { return status("Complete", "SUCCEEDED", "", "") },
		failed: func(pod string, deleted bool) map[string]any {
			switch {
			case !strings.HasSuffix(pod, "-submitter"):
				return status("Failed", "", "HeadLost", "lost "+pod)
			case deleted:
				return status("Failed", "", "SubmissionFailed", "lost "+pod)
			}
			return status("Failed", "FAILED", "AppFailed", pod+" failed")
		},
	}
}

// follows tells all but the first of several pods of the same program that they only belong to it.
func follows(index int, how string) []corev1.EnvVar {
	if index == 0 {
		return nil
	}
	return []corev1.EnvVar{{Name: script.MemberEnv, Value: how}}
}

// define makes the API server serve the kind, without a schema: the tests of the plugins have those of the operators.
func (k kind) define(ctx context.Context, objects dynamic.Interface) error {
	definitions := objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	name := k.resource.Resource + "." + k.resource.Group
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": k.resource.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": k.resource.Resource, "kind": k.name, "listKind": k.name + "List"},
			"versions": []any{map[string]any{
				"name": k.resource.Version, "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	if _, err := definitions.Create(ctx, wanted, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for { // until it is served
		_, err := objects.Resource(k.resource).List(ctx, metav1.ListOptions{})
		if err == nil || !apierrors.IsNotFound(err) {
			return err
		}
		if err := clock.Sleep(ctx, clock.System{}, poll); err != nil {
			return err
		}
	}
}
