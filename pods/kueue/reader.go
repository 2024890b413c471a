package kueue

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

const group = "kueue.x-k8s.io"

// labelJob is the label of a Workload with the uid of the object that waits.
const labelJob = "kueue.x-k8s.io/job-uid"

// Recheck is how often to ask again about an object that waits. Its Workload is not watched: the type may not exist.
const Recheck = 30 * time.Second

// versions in which Kueue may serve Workloads, the newest first.
var versions = []string{"v1beta2", "v1beta1"} //nolint:gochecknoglobals // constant

// Right is what Why asks the API server for.
func Right() plugin.Right {
	return plugin.Right{Group: group, Resource: "workloads", Verbs: []string{"list"}}
}

// Why says in one line why Kueue has not admitted an object. It is empty where nothing is known: no queue is responsible for
// the object, Kueue is not installed, or it has not acted yet.
func Why(ctx context.Context, live client.Reader, object client.Object) (string, error) {
	queue := object.GetLabels()[LabelQueue]
	if queue == "" {
		return "", nil
	}
	workload, err := workloadOf(ctx, live, object)
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("LocalQueue %s has not admitted it; the executor may not list Kueue's Workloads, which say why", queue), nil
	case err != nil:
		return "", err
	case workload == nil:
		return "", nil
	}
	if said := saidBy(workload); said != "" {
		return fmt.Sprintf("LocalQueue %s has not admitted it: %s", queue, said), nil
	}
	return "", nil
}

// workloadOf returns the Workload of an object; nil if there is none. While Kueue is away, only the version that the API server stores
// can be read: Kueue converts the others.
func workloadOf(ctx context.Context, live client.Reader, object client.Object) (*unstructured.Unstructured, error) {
	var failed error
	for _, version := range versions {
		found := &unstructured.UnstructuredList{}
		found.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: "WorkloadList"})
		err := live.List(ctx, found, client.InNamespace(object.GetNamespace()), client.MatchingLabels{labelJob: string(object.GetUID())})
		switch {
		case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		case err != nil:
			failed = cmp.Or(failed, fmt.Errorf("list the Workloads of %s: %w", object.GetName(), err))
		case len(found.Items) > 0:
			return &found.Items[0], nil
		default:
			return nil, nil //nolint:nilnil // documented
		}
	}
	return nil, failed
}

// saidBy returns what Kueue says of a Workload that waits. An admission check that is not ready is said before the eviction that
// preceded it, and both before the quota that is missing since.
func saidBy(workload *unstructured.Unstructured) string {
	active, declared, _ := unstructured.NestedBool(workload.Object, "spec", "active")
	if declared && !active {
		return "its Workload was deactivated"
	}
	conditions, _, _ := unstructured.NestedSlice(workload.Object, "status", "conditions")
	said := map[string]string{}
	for _, one := range conditions {
		fields, _ := one.(map[string]any)
		text := func(name string) string {
			value, _ := fields[name].(string)
			return value
		}
		said[text("type")+"="+text("status")] = cmp.Or(text("message"), text("reason"))
	}
	if said["QuotaReserved=True"] != "" {
		return cmp.Or(unready(workload), said["Admitted=False"])
	}
	quota := said["QuotaReserved=False"]
	if evicted := said["Evicted=True"]; evicted != "" && evicted != quota {
		if quota == "" {
			return evicted
		}
		return evicted + "; " + quota
	}
	return quota
}

// unready names the first admission check that has not let the Workload start.
func unready(workload *unstructured.Unstructured) string {
	checks, _, _ := unstructured.NestedSlice(workload.Object, "status", "admissionChecks")
	for _, one := range checks {
		fields, _ := one.(map[string]any)
		state, _ := fields["state"].(string)
		if state == "Ready" {
			continue
		}
		name, _ := fields["name"].(string)
		text := fmt.Sprintf("admission check %s is %s", name, cmp.Or(state, "Pending"))
		if message, _ := fields["message"].(string); message != "" {
			text += ": " + message
		}
		return text
	}
	return ""
}
