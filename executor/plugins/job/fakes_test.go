package job_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/executor/plugins/job"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// cluster is an API server that knows Jobs and pods only, or a cache of it.
type cluster struct {
	client.Reader
	client.Writer
	jobs    map[string]*batchv1.Job
	pods    map[string]*corev1.Pod
	created int
	deleted []string
	listed  int
	refuse  error
}

func newCluster() *cluster {
	return &cluster{jobs: map[string]*batchv1.Job{}, pods: map[string]*corev1.Pod{}}
}

func (c *cluster) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found := c.jobs[key.Name]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "jobs"}, key.Name)
	}
	found.DeepCopyInto(into.(*batchv1.Job))
	return nil
}

// List lists the pods of a Job, which the cache finds by the plugin's index and the API server by the label.
func (c *cluster) List(_ context.Context, into client.ObjectList, given ...client.ListOption) error {
	if workloads, ok := into.(*unstructured.UnstructuredList); ok { // what Kueue says of a Job for which there is no room
		workloads.Items = append(workloads.Items, unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
			map[string]any{"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "insufficient unused quota for cpu"},
		}}}})
		return nil
	}
	c.listed++
	options := &client.ListOptions{}
	options.ApplyOptions(given)
	index := job.Definition(podspec.DefaultConfig(), job.Config{}).Indexes[0]
	for _, pod := range c.pods {
		matches := pod.Namespace == options.Namespace
		if options.FieldSelector != nil {
			name, exact := options.FieldSelector.RequiresExactMatch(index.Field)
			values := index.Values(pod)
			matches = matches && exact && len(values) == 1 && values[0] == name
		}
		if options.LabelSelector != nil {
			matches = matches && options.LabelSelector.Matches(labels.Set(pod.Labels))
		}
		if matches {
			list := into.(*corev1.PodList)
			list.Items = append(list.Items, *pod)
		}
	}
	return nil
}

func (c *cluster) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if c.refuse != nil {
		return c.refuse
	}
	made := object.(*batchv1.Job)
	if c.jobs[made.Name] != nil {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "jobs"}, made.Name)
	}
	c.created++
	made.UID = types.UID(fmt.Sprint("job-uid-", c.created))
	made.CreationTimestamp = metav1.NewTime(plugintest.Now())
	c.jobs[made.Name] = made.DeepCopy()
	return nil
}

func (c *cluster) Delete(_ context.Context, object client.Object, given ...client.DeleteOption) error {
	options := &client.DeleteOptions{}
	options.ApplyOptions(given)
	name := object.GetName()
	if options.PropagationPolicy != nil {
		name += " " + string(*options.PropagationPolicy)
	}
	c.deleted = append(c.deleted, name)
	return nil
}

// bench is a plugin in front of a fake cluster.
type bench struct {
	*cluster
	cache  *cluster
	clock  *clock.Fake
	plugin *job.Plugin
}

func newBench(t *testing.T) *bench {
	b := &bench{cluster: newCluster(), cache: newCluster(), clock: clock.NewFake(plugintest.Now())}
	var err error
	b.plugin, err = job.New(podspec.DefaultConfig(), job.Config{Queue: "nightly"}, plugin.Deps{
		Cache: b.cache, Live: b.cluster, Writer: b.cluster, Store: &plugintest.Blobs{}, Clock: b.clock,
	})
	require.NoError(t, err)
	return b
}

func (b *bench) advance(t *testing.T, attempt *plugin.Attempt) plugin.State {
	t.Helper()
	state, err := b.plugin.Advance(t.Context(), attempt)
	require.NoError(t, err)
	return state
}

// launch creates the Job of an attempt, which the cache then has.
func (b *bench) launch(t *testing.T, attempt *plugin.Attempt) *batchv1.Job {
	t.Helper()
	b.advance(t, attempt)
	require.Len(t, b.jobs, 1)
	for name, made := range b.jobs {
		b.cache.jobs[name] = made
		return made
	}
	return nil
}

// pod is the pod that the Job controller creates.
func (b *bench) pod(owner *batchv1.Job, name string) *corev1.Pod {
	made := &corev1.Pod{ObjectMeta: *owner.Spec.Template.ObjectMeta.DeepCopy(), Spec: *owner.Spec.Template.Spec.DeepCopy()}
	made.Namespace, made.Name, made.UID = owner.Namespace, name, types.UID(name+"-uid")
	made.Labels[batchv1.JobNameLabel] = owner.Name
	made.CreationTimestamp = metav1.NewTime(b.clock.Now())
	made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))}
	b.pods[name], b.cache.pods[name] = made, made
	return made
}
