package charts_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

const definition = "taskactions.flyte.org"

// TestInstallUpgradeUninstall takes a trial, which has every kind of object, from an older version of the chart to this one
// and away, on a cluster where the server itself had installed the definition.
func TestInstallUpgradeUninstall(t *testing.T) {
	cluster := kubetest.New(t)
	kubeconfig, own, ctx := writeKubeconfig(t, cluster), cluster.Namespace, t.Context()
	run := func(args ...string) (string, error) {
		return helm(t, kubeconfig, append(args, "--namespace", own)...)
	}
	must := func(args ...string) {
		t.Helper()
		text, err := run(args...)
		require.NoError(t, err, text)
	}
	t.Cleanup(func() { require.NoError(t, v1.EnsureCRD(context.WithoutCancel(ctx), cluster.Config)) }) // for other tests
	text, err := run("install", release, chart, "--set", "trial=true")
	require.Error(t, err)
	require.Contains(t, text, definition, "a definition that the server installed is not taken over by accident")

	old := olderChart(t)
	must("install", release, old, "--set", "trial=true", "--take-ownership", "--force-conflicts")
	require.Contains(t, columns(t, cluster), "Old")
	first, err := cluster.Clientset.CoreV1().Secrets(own).Get(ctx, release+"-trial", metav1.GetOptions{})
	require.NoError(t, err)
	require.Len(t, first.Data["password"], 32)

	must("upgrade", release, chart, "--set", "trial=true", "--set", "replicaCount=3", "--set", "config.logging.level=debug")
	require.NotContains(t, columns(t, cluster), "Old", "an upgrade of the chart upgrades the definition")
	second, err := cluster.Clientset.CoreV1().Secrets(own).Get(ctx, release+"-trial", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, first.Data, second.Data, "the credentials stay")
	deployment, err := cluster.Clientset.AppsV1().Deployments(own).Get(ctx, release, metav1.GetOptions{})
	require.NoError(t, err)
	require.EqualValues(t, 3, *deployment.Spec.Replicas)
	requireAdmitted(t, cluster, "server", deployment.Spec.Template.Spec)
	for _, part := range []string{"store", "postgres"} {
		made, err := cluster.Clientset.AppsV1().StatefulSets(own).Get(ctx, release+"-"+part, metav1.GetOptions{})
		require.NoError(t, err)
		spec := made.Spec.Template.Spec
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "data"}) // the claim of the replica
		requireAdmitted(t, cluster, part, spec)
	}

	must("uninstall", release)
	require.Equal(t, []string{"CustomResourceDefinition " + definition}, left(t, cluster))
}

// TestInstallOnACleanCluster: the definition comes with the release.
func TestInstallOnACleanCluster(t *testing.T) {
	cluster := kubetest.New(t)
	kubeconfig, ctx := writeKubeconfig(t, cluster), t.Context()
	definitions := definitionsOf(t, cluster)
	require.NoError(t, definitions.Delete(ctx, definition, metav1.DeleteOptions{}))
	t.Cleanup(func() { require.NoError(t, v1.EnsureCRD(context.WithoutCancel(ctx), cluster.Config)) })
	require.Eventually(t, func() bool {
		_, err := definitions.Get(ctx, definition, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, time.Minute, 10*time.Millisecond)
	text, err := helm(t, kubeconfig, append([]string{"install", release, chart, "--namespace", cluster.Namespace}, installable...)...)
	require.NoError(t, err, text)
	require.Contains(t, text, "rollout status deployment/"+release, "the notes say what is next")
	found, err := definitions.Get(ctx, definition, metav1.GetOptions{})
	require.NoError(t, err)
	wanted, err := v1.CRD()
	require.NoError(t, err)
	for key, value := range wanted.Annotations {
		require.Equal(t, value, found.Annotations[key])
	}
	text, err = helm(t, kubeconfig, "uninstall", release, "--namespace", cluster.Namespace)
	require.NoError(t, err, text)
	require.Contains(t, text, "kept due to the resource policy")
}

func definitionsOf(t *testing.T, cluster *kubetest.Cluster) apiextensions.CustomResourceDefinitionInterface {
	t.Helper()
	client, err := apiextensions.NewForConfig(cluster.Config)
	require.NoError(t, err)
	return client.CustomResourceDefinitions()
}

// olderChart is the chart with a definition that has another column.
func olderChart(t *testing.T) string {
	t.Helper()
	old := filepath.Join(t.TempDir(), chart)
	require.NoError(t, os.CopyFS(old, os.DirFS(chart)))
	path := filepath.Join(old, "files/crds/flyte.org_taskactions.yaml")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	changed := strings.Replace(string(text), "  - additionalPrinterColumns:\n", "  - additionalPrinterColumns:\n    - jsonPath: .spec.run\n      name: Old\n      type: string\n", 1)
	require.NotEqual(t, string(text), changed)
	require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
	return old
}

func columns(t *testing.T, cluster *kubetest.Cluster) []string {
	t.Helper()
	found, err := definitionsOf(t, cluster).Get(t.Context(), definition, metav1.GetOptions{})
	require.NoError(t, err)
	var names []string
	for _, column := range found.Spec.Versions[0].AdditionalPrinterColumns {
		names = append(names, column.Name)
	}
	return names
}

// requireAdmitted creates a pod in a namespace of the restricted profile.
func requireAdmitted(t *testing.T, cluster *kubetest.Cluster, name string, spec corev1.PodSpec) {
	t.Helper()
	namespaces := cluster.Clientset.CoreV1().Namespaces()
	restricted, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "restricted-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	require.NoError(t, err)
	spec.ServiceAccountName = ""
	_, err = cluster.Clientset.CoreV1().Pods(restricted.Name).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// left are the objects of all kinds that carry the name of a release.
func left(t *testing.T, cluster *kubetest.Cluster) []string {
	t.Helper()
	client, err := dynamic.NewForConfig(cluster.Config)
	require.NoError(t, err)
	var names []string
	_, lists, err := cluster.Clientset.Discovery().ServerGroupsAndResources()
	require.NoError(t, err)
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		require.NoError(t, err)
		for _, kind := range list.APIResources {
			if strings.Contains(kind.Name, "/") || !strings.Contains(strings.Join(kind.Verbs, " "), "list") {
				continue
			}
			found, err := client.Resource(version.WithResource(kind.Name)).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + release})
			require.NoError(t, err, kind.Name)
			for _, object := range found.Items {
				if object.GetNamespace() == "" || object.GetNamespace() == cluster.Namespace {
					names = append(names, kind.Kind+" "+object.GetName())
				}
			}
		}
	}
	return names
}
