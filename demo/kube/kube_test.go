package kube_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flyte-binary/flyte-binary/demo/demotest"
	"github.com/flyte-binary/flyte-binary/demo/kube"
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
