package operated_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugins/dask"
	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// lateForPods is a cache in which the events of pods arrive after those of other objects.
type lateForPods struct {
	client.Reader
	arrived atomic.Bool
}

func (l *lateForPods) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, pods := into.(*corev1.PodList); pods && !l.arrived.Load() {
		return meta.SetList(into, []runtime.Object{})
	}
	return l.Reader.List(ctx, into, options...)
}

// TestAStatusThatIsSeenBeforeItsPod: the informers of objects and pods are not ordered. An operator says that the program runs, and the
// event of the program's pod comes later: the attempt is not lost. A pod that the API server does not have is.
func TestAStatusThatIsSeenBeforeItsPod(t *testing.T) {
	cluster := kubetest.New(t)
	kubetest.Install(t, cluster, "kubernetes.dask.org_daskjobs.yaml")
	late := &lateForPods{}
	tested := plugintest.Start(t, cluster, dask.Definition(podspec.DefaultConfig(), operated.DefaultConfig()), func(deps *plugin.Deps) {
		late.Reader, deps.Cache = deps.Cache, late
	})
	template := task(t, "dask", 0, `{}`)
	encoded, err := proto.Marshal(template)
	require.NoError(t, err)
	attempt := plugintest.AttemptOf(template)
	attempt.Task.Namespace, attempt.Task.UID, attempt.Task.Spec.TaskTemplate = cluster.Namespace, "", encoded
	require.NoError(t, cluster.Client.Create(t.Context(), attempt.Task))
	state := func() plugin.State {
		found, err := tested.Advance(t.Context(), attempt)
		require.NoError(t, err)
		return found
	}
	state()
	jobs := &unstructured.UnstructuredList{}
	jobs.SetGroupVersionKind(schema.GroupVersionKind{Group: "kubernetes.dask.org", Version: "v1", Kind: "DaskJobList"})
	require.NoError(t, cluster.Client.List(t.Context(), jobs, client.InNamespace(cluster.Namespace)))
	require.Len(t, jobs.Items, 1)
	job := &jobs.Items[0]

	pods := &corev1.PodTemplateSpec{}
	fields, _, err := unstructured.NestedMap(job.Object, "spec", "job")
	require.NoError(t, err)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(fields, pods))
	runner := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: "runner", Labels: pods.Labels}, Spec: pods.Spec}
	require.NoError(t, cluster.Client.Create(t.Context(), runner))
	require.NoError(t, unstructured.SetNestedField(job.Object, "Running", "status", "jobStatus"))
	require.NoError(t, cluster.Client.Status().Update(t.Context(), job))
	seen := &unstructured.Unstructured{}
	seen.SetGroupVersionKind(job.GroupVersionKind())
	require.Eventually(t, func() bool {
		require.NoError(t, late.Get(t.Context(), client.ObjectKeyFromObject(job), seen))
		return operated.Text(seen, "status", "jobStatus") == "Running"
	}, time.Minute, 10*time.Millisecond, "the status arrives")

	require.Nil(t, state().Failure, "the API server has the pod")
	require.Equal(t, "runner", state().LogContext.GetPrimaryPodName())
	late.arrived.Store(true)
	require.Nil(t, state().Failure)
	require.NoError(t, cluster.Client.Delete(t.Context(), runner, client.GracePeriodSeconds(0)))
	require.Eventually(t, func() bool {
		found := state().Failure
		return found != nil && found.Reason == failure.DeletedExternally
	}, time.Minute, 10*time.Millisecond, "the pod is gone for the API server, too")
}
