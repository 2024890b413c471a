package kube_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/flyte-binary/flyte-binary/demo/demotest"
	"github.com/flyte-binary/flyte-binary/demo/kube"
	tasks "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

func start(t *testing.T, dir string) (*kube.Cluster, *kubernetes.Clientset) {
	t.Helper()
	cluster, err := kube.New(kube.Config{Dir: dir, Program: demotest.Program(t)}, zerolog.New(zerolog.NewTestWriter(t)))
	require.NoError(t, err)
	require.NoError(t, cluster.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.Background())) })
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	require.NoError(t, err)
	return cluster, client
}

func configMap(name string, owner *v1.ConfigMap) *v1.ConfigMap {
	object := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	if owner != nil {
		object.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}}
	}
	return object
}

func TestClusterSurvivesKillOfItsServer(t *testing.T) {
	cluster, client := start(t, filepath.Join(t.TempDir(), "kube"))
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("kept", nil), metav1.CreateOptions{})
	require.NoError(t, err)

	killed := cluster.Pid()
	require.NoError(t, syscall.Kill(killed, syscall.SIGKILL))

	// Same address, same token: the client created before the kill still works.
	require.Eventually(t, func() bool {
		_, err = client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
		return err == nil
	}, time.Minute, 50*time.Millisecond, "data written before the kill is still there")
	require.Eventually(t, func() bool { return cluster.Pid() != 0 && cluster.Pid() != killed }, time.Minute, 10*time.Millisecond)
}

func TestClusterKeepsItsStateOverARestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kube")
	first, client := start(t, dir)
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("kept", nil), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, first.Stop(t.Context()))

	_, client = start(t, dir)
	_, err = client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	require.NoError(t, err)
}

func TestClusterCollectsGarbageAndMakesServiceAccounts(t *testing.T) {
	_, client := start(t, filepath.Join(t.TempDir(), "kube"))
	maps := client.CoreV1().ConfigMaps("default")
	owner, err := maps.Create(t.Context(), configMap("owner", nil), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = maps.Create(t.Context(), configMap("owned", owner), metav1.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, maps.Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		_, err := maps.Get(t.Context(), "owned", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, time.Minute, 50*time.Millisecond, "the owned object is deleted with its owner")

	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short-lived"}}
	_, err = client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().ServiceAccounts("short-lived").Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	require.NoError(t, client.CoreV1().Namespaces().Delete(t.Context(), "short-lived", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "short-lived", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, time.Minute, 100*time.Millisecond)
}

func TestClusterLetsNobodyInWithoutTheToken(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kube")
	cluster, _ := start(t, dir)
	cfg := cluster.RESTConfig()
	for name, token := range map[string]string{"none": "", "wrong": "x"} {
		cfg.BearerToken = token
		client, err := kubernetes.NewForConfig(cfg)
		require.NoError(t, err)
		for _, path := range []string{"/readyz", "/version", "/api/v1/namespaces"} {
			var status int
			client.Discovery().RESTClient().Get().AbsPath(path).Do(t.Context()).StatusCode(&status)
			require.Equal(t, http.StatusUnauthorized, status, "%s with token %q", path, name)
		}
	}
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	for _, file := range []string{kube.TokenFile, kube.AccountKeyFile, kube.ServerKeyFile, "kubeconfig"} {
		info, err := os.Stat(filepath.Join(dir, file))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
	}
}

// TestPodsHaveNoManagedFields: only server-side apply reads them, and they cost a quarter of the API server's CPU for a task.
func TestPodsHaveNoManagedFields(t *testing.T) {
	cluster, client := start(t, filepath.Join(t.TempDir(), "kube"))
	pods := client.CoreV1().Pods("default")
	spec := v1.PodSpec{NodeName: "no-such-node", Containers: []v1.Container{{Name: "main", Image: "image"}}}
	made, err := pods.Create(t.Context(), &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "made"}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Empty(t, made.ManagedFields)
	changed, err := pods.Patch(t.Context(), "made", types.StrategicMergePatchType, []byte(`{"status":{"phase":"Running"}}`), metav1.PatchOptions{}, "status")
	require.NoError(t, err)
	require.Equal(t, v1.PodRunning, changed.Status.Phase)
	require.Empty(t, changed.ManagedFields)

	apply := metav1.PatchOptions{FieldManager: "kubectl"}
	body := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"applied","labels":{"a":"b"}},"spec":{"nodeName":"no-such-node","containers":[{"name":"main","image":"image"}]}}`
	applied, err := pods.Patch(t.Context(), "applied", types.ApplyPatchType, []byte(body), apply)
	require.NoError(t, err)
	require.NotEmpty(t, applied.ManagedFields)
	applied, err = pods.Patch(t.Context(), "applied", types.ApplyPatchType, []byte(strings.Replace(body, `"labels":{"a":"b"}`, `"labels":{}`, 1)), apply)
	require.NoError(t, err)
	require.Empty(t, applied.Labels, "a later apply removes what the first one had set")

	require.NoError(t, tasks.EnsureCRD(t.Context(), cluster.RESTConfig()))
	objects, err := dynamic.NewForConfig(cluster.RESTConfig())
	require.NoError(t, err)
	task, err := objects.Resource(tasks.Resource).Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": tasks.GroupVersion.String(), "kind": tasks.Kind, "metadata": map[string]any{"name": "made"},
		"spec": map[string]any{
			"uid": int64(1), "attempt": int64(1), "project": "p", "domain": "d", "run": "r", "action": "a0", "taskType": "python",
			"taskTemplate": "QUFB", "runOutputBase": "/data/",
		},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	require.Empty(t, task.GetManagedFields())

	other := configMap("other", nil)
	other.Data = map[string]string{"a": "b"}
	kept, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), other, metav1.CreateOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, kept.ManagedFields, "other kinds have them")
}
