package executor

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Story R7: on a cluster with 88,000 pods of others an executor kept them all in memory and was killed for it 16 seconds
// after each start.
func TestPodsOfOthersAreNotKept(t *testing.T) {
	cluster := kubetest.New(t)
	pods := cluster.Clientset.CoreV1().Pods(cluster.Namespace)
	create := func(name string, labels map[string]string) {
		_, err := pods.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, Annotations: map[string]string{"note": "large"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Args: []string{"many"}}}},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	for i := range 50 {
		create(fmt.Sprint("theirs-", i), map[string]string{"app": "other"})
	}
	create("ours", map[string]string{v1.LabelManaged: v1.ManagedValue})

	options := cacheOptions([]string{cluster.Namespace}, selector("", ident.AllShards), nil)
	options.Scheme = kubetest.Scheme(t)
	kept, err := cache.New(cluster.Config, options)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- kept.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	require.True(t, kept.WaitForCacheSync(ctx))
	var list corev1.PodList
	require.NoError(t, kept.List(ctx, &list))
	require.Len(t, list.Items, 1)
	require.Equal(t, "ours", list.Items[0].Name)
	require.Empty(t, list.Items[0].Annotations, "unused fields are stripped, too")
	require.Empty(t, list.Items[0].Spec.Containers[0].Args)
}

// TestCacheTellsHowFarItIs: what was created later than all that the cache shows is not seen, until the cache shows it.
func TestCacheTellsHowFarItIs(t *testing.T) {
	cluster := kubetest.New(t)
	options := cacheOptions(nil, selector("", ident.AllShards), nil)
	options.Scheme = kubetest.Scheme(t)
	options.DefaultNamespaces = nil
	kept, err := cache.New(cluster.Config, options)
	require.NoError(t, err)
	_, err = kept.GetInformer(t.Context(), &corev1.Pod{}, cache.BlockUntilSynced(false))
	require.NoError(t, err)
	seen := seenBy(kept)
	made := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "ours-", Namespace: cluster.Namespace, Labels: map[string]string{v1.LabelManaged: v1.ManagedValue}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	made, err = cluster.Clientset.CoreV1().Pods(cluster.Namespace).Create(t.Context(), made, metav1.CreateOptions{})
	require.NoError(t, err)
	got, known := seen(&corev1.Pod{}, made.ResourceVersion)
	require.False(t, known && got, "the cache has not started")

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- kept.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	require.Eventually(t, func() bool {
		got, known = seen(&corev1.Pod{}, made.ResourceVersion)
		return known && got
	}, 20*time.Second, 10*time.Millisecond)
	got, known = seen(&corev1.Pod{}, "99999999999999")
	require.True(t, known)
	require.False(t, got)
	_, known = seen(&corev1.Pod{}, "no version")
	require.False(t, known)
}
