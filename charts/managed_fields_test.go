package charts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

// TestDropManagedFields: with dropManagedFields.enabled, our pods are created without managed fields and get none from later writes. Pods
// of others keep theirs, and so do pods that are applied.
func TestDropManagedFields(t *testing.T) {
	cluster := kubetest.New(t)
	kubeconfig := writeKubeconfig(t, cluster)
	text, err := helm(t, kubeconfig, append([]string{"install", release, chart, "--namespace", cluster.Namespace, "--set", "dropManagedFields.enabled=true", "--set", "crd.install=false"}, installable...)...)
	require.NoError(t, err, text)
	t.Cleanup(func() {
		text, err := helm(t, kubeconfig, "uninstall", release, "--namespace", cluster.Namespace)
		require.NoError(t, err, text)
	})

	pods := cluster.Clientset.CoreV1().Pods(cluster.Namespace)
	pod := func(name string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, GenerateName: "tried-", Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}},
		}
	}
	ours := map[string]string{v1.LabelManaged: v1.ManagedValue}
	require.Eventually(t, func() bool {
		made, err := pods.Create(t.Context(), pod("", ours), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		require.NoError(t, err)
		return len(made.ManagedFields) == 0
	}, time.Minute, 10*time.Millisecond, "the policy takes effect")

	_, err = pods.Create(t.Context(), pod("ours", ours), metav1.CreateOptions{})
	require.NoError(t, err)
	changed, err := pods.Patch(t.Context(), "ours", types.StrategicMergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.Equal(t, corev1.PodRunning, changed.Status.Phase)
	require.Empty(t, changed.ManagedFields, "later writes")

	other, err := pods.Create(t.Context(), pod("other", nil), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, other.ManagedFields)

	body := []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"applied","labels":{"flyte.org/managed":"true"}},"spec":{"containers":[{"name":"main","image":"image"}]}}`)
	force := true
	applied, err := pods.Patch(t.Context(), "applied", types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "kubectl", Force: &force})
	require.NoError(t, err)
	require.NotEmpty(t, applied.ManagedFields)
}
