package kueue_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
)

// condition is one that Kueue v0.15 writes.
func condition(kind, status, reason, message string) any {
	return map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-11-28T00:00:00Z",
	}
}

// quota are the words of Kueue about a ClusterQueue that is full.
const quota = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default-flavor, 2 more needed"

// TestWhy: what Kueue writes into the Workload of an object is why the object waits. The API server has Kueue's own definition.
func TestWhy(t *testing.T) {
	cluster := kubetest.New(t)
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster.Namespace, Name: "waits", Labels: map[string]string{kueue.LabelQueue: "training"},
	}}
	require.NoError(t, cluster.Client.Create(t.Context(), made))
	why := func() string {
		t.Helper()
		text, err := kueue.Why(t.Context(), cluster.Client, made)
		require.NoError(t, err)
		return text
	}
	require.Empty(t, why(), "Kueue is not installed")
	kubetest.Install(t, cluster, "kueue.x-k8s.io_workloads.yaml")
	require.Empty(t, why(), "Kueue has not acted")

	other := workload(cluster.Namespace, "other", "another-uid")
	require.NoError(t, cluster.Client.Create(t.Context(), other))
	own := workload(cluster.Namespace, "own", string(made.UID))
	require.NoError(t, cluster.Client.Create(t.Context(), own))
	require.Empty(t, why(), "Kueue has said nothing")
	for name, tc := range map[string]struct {
		status map[string]any
		want   string
	}{
		"no quota": {
			map[string]any{"conditions": []any{condition("QuotaReserved", "False", "Pending", quota)}},
			"LocalQueue training has not admitted it: " + quota,
		},
		"no such queue": {
			map[string]any{"conditions": []any{condition("QuotaReserved", "False", "Inadmissible", "LocalQueue training doesn't exist")}},
			"LocalQueue training has not admitted it: LocalQueue training doesn't exist",
		},
		"preempted": {
			map[string]any{"conditions": []any{
				condition("QuotaReserved", "False", "Pending", quota),
				condition("Evicted", "True", "Preempted", "Preempted to accommodate a workload due to prioritization in the ClusterQueue"),
			}},
			"LocalQueue training has not admitted it: Preempted to accommodate a workload due to prioritization in the ClusterQueue; " + quota,
		},
		"a check is not ready": {
			map[string]any{
				"conditions": []any{condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue all")},
				"admissionChecks": []any{map[string]any{
					"name": "capacity", "state": "Pending", "message": "Provisioning Request wasn't provisioned", "lastTransitionTime": "2026-11-28T00:00:00Z",
				}},
			},
			"LocalQueue training has not admitted it: admission check capacity is Pending: Provisioning Request wasn't provisioned",
		},
	} {
		own.Object["status"] = tc.status
		require.NoError(t, cluster.Client.Status().Update(t.Context(), own), name)
		require.Equal(t, tc.want, why(), name)
	}

	delete(made.Labels, kueue.LabelQueue)
	require.Empty(t, why(), "no queue is responsible")
}

func workload(namespace, name, job string) *unstructured.Unstructured {
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"queueName": "training", "podSets": []any{map[string]any{
		"name": "main", "count": int64(1),
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}},
	}}}}}
	made.SetGroupVersionKind(schema.GroupVersionKind{Group: "kueue.x-k8s.io", Version: "v1beta1", Kind: "Workload"})
	made.SetNamespace(namespace)
	made.SetName(name)
	made.SetLabels(map[string]string{"kueue.x-k8s.io/job-uid": job})
	return made
}

// forbidden is an API server that lists nothing.
type forbidden struct{ client.Reader }

func (forbidden) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: "workloads"}, "", nil)
}

func TestWithoutTheRight(t *testing.T) {
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{kueue.LabelQueue: "training"}}}
	text, err := kueue.Why(t.Context(), forbidden{}, made)
	require.NoError(t, err)
	require.Equal(t, "LocalQueue training has not admitted it; the executor may not list Kueue's Workloads, which say why", text)
}

// away is an API server that cannot ask Kueue to convert Workloads to its newest version.
type away struct{ client.Reader }

func (a away) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	found, ok := list.(*unstructured.UnstructuredList)
	if !ok || found.GroupVersionKind().Version != "v1beta1" {
		return apierrors.NewInternalError(errors.New("conversion webhook for kueue.x-k8s.io/v1beta1, Kind=Workload failed: connection refused"))
	}
	stored := workload("ns", "own", "uid")
	stored.Object["status"] = map[string]any{"conditions": []any{condition("QuotaReserved", "False", "Pending", quota)}}
	found.Items = []unstructured.Unstructured{*stored}
	return nil
}

func TestKueueIsAway(t *testing.T) {
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{kueue.LabelQueue: "training"}}}
	text, err := kueue.Why(t.Context(), away{}, made)
	require.NoError(t, err)
	require.Equal(t, "LocalQueue training has not admitted it: "+quota, text)
}

func TestQueues(t *testing.T) {
	queues := kueue.Queues{"plugin:ray=gpus", "team=cpus", "team/production=fast"}
	require.NoError(t, queues.Validate([]string{"job", "ray"}))
	labels := func(project, domain, own string) map[string]string {
		return map[string]string{"flyte.org/project": project, "flyte.org/domain": domain, kueue.LabelQueue: own}
	}
	for _, tc := range []struct {
		plugin, project, domain, own, want string
	}{
		{"ray", "team", "production", "", "fast"},
		{"ray", "team", "development", "", "cpus"},
		{"ray", "others", "production", "", "gpus"},
		{"job", "others", "production", "", "rest"},
		{"ray", "team", "production", "own", "own"},
	} {
		require.Equal(t, tc.want, queues.Of(tc.plugin, labels(tc.project, tc.domain, tc.own), "rest"), "%+v", tc)
	}
	for _, wrong := range []string{"training", "=q", "team=", "team=Not_A_Name", "plugin:rays=q", "a=q"} {
		require.Error(t, append(kueue.Queues{"a=b"}, wrong).Validate([]string{"ray"}), wrong)
	}
}
