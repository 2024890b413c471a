package deployer_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// withSecret is an app that takes a secret.
func withSecret(replicas uint32) *enginev1.DesiredApp {
	return hello("uid-9", revision(1, replicas, func(spec *app.Spec) {
		spec.SecurityContext = &app.SecurityContext{Secrets: []*core.Secret{{Key: "key", MountRequirement: core.Secret_ENV_VAR}}}
	}))
}

func TestSecretsLiveAsLongAsReplicas(t *testing.T) {
	f := newFixture(t)
	f.secrets["key"] = "first"
	value := func() string {
		var found corev1.SecretList
		require.NoError(t, f.Client.List(context.Background(), &found, client.InNamespace(f.Namespace)))
		if len(found.Items) != 1 {
			return ""
		}
		return string(found.Items[0].Data["key"])
	}
	f.fleet.want(withSecret(1), false)
	f.start()
	f.awaitDeployments("1×1")
	require.Equal(t, "first", value())
	f.fleet.want(withSecret(0), true)
	f.awaitDeployments("1×0")
	require.Eventually(t, func() bool { return value() == "" }, waitLimit, look)
	f.secrets["key"] = "second"
	f.fleet.want(withSecret(1), true)
	f.awaitDeployments("1×1")
	require.Equal(t, "second", value())
}

// A process that ends while a revision goes to sleep has stopped its replicas before it deletes their Secrets, and the next one deletes what
// is left.
func TestReplicasNeverLackTheirSecrets(t *testing.T) {
	f := newFixture(t)
	f.secrets["key"] = "first"
	f.fleet.want(withSecret(1), false)
	stop := f.start()
	f.awaitDeployments("1×1")
	stop()
	secrets := f.Clientset.CoreV1().Secrets(f.Namespace)
	list, err := secrets.List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)

	gone, err := secrets.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	defer gone.Stop()
	seen, err := f.Clientset.AppsV1().Deployments(f.Namespace).Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	require.NoError(t, err)
	defer seen.Stop()
	f.fleet.want(withSecret(0), false)
	stop = f.start()
	stopped, ok := (<-seen.ResultChan()).Object.(*appsv1.Deployment)
	require.True(t, ok)
	require.Zero(t, *stopped.Spec.Replicas)
	require.Equal(t, "true", stopped.Annotations["flyte.org/app-secrets"])
	deleted, ok := (<-gone.ResultChan()).Object.(*corev1.Secret)
	require.True(t, ok)
	versions := [2]int{}
	for i, version := range []string{stopped.ResourceVersion, deleted.ResourceVersion} {
		versions[i], err = strconv.Atoi(version)
		require.NoError(t, err)
	}
	require.Less(t, versions[0], versions[1])
	require.Eventually(t, func() bool { return f.deployment(1).Annotations["flyte.org/app-secrets"] == "" }, waitLimit, look)
	stop()

	left := list.Items[0].DeepCopy() // as if the process had ended between the two
	left.ResourceVersion, left.UID = "", ""
	_, err = secrets.Create(t.Context(), left, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = f.Clientset.AppsV1().Deployments(f.Namespace).Patch(t.Context(), stopped.Name, types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"flyte.org/app-secrets":"true"}}}`), metav1.PatchOptions{})
	require.NoError(t, err)
	f.start()
	require.Eventually(t, func() bool {
		list, err := secrets.List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	}, waitLimit, look)
}

// A process that ends between the Secret and the Deployment of a revision leaves no Secret of which no one knows: a Deployment comes first.
func TestADeploymentShowsThatThereAreSecrets(t *testing.T) {
	f := newFixture(t)
	f.secrets["key"] = "first"
	f.fleet.want(hello("uid-9", revision(1, 1, func(spec *app.Spec) {
		spec.SecurityContext = &app.SecurityContext{Secrets: []*core.Secret{{Key: "key", MountRequirement: core.Secret_ENV_VAR}}}
	})), false)
	seen, err := f.Clientset.AppsV1().Deployments(f.Namespace).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer seen.Stop()
	f.start()
	first, ok := (<-seen.ResultChan()).Object.(*appsv1.Deployment)
	require.True(t, ok)
	require.Zero(t, *first.Spec.Replicas)
	require.Equal(t, "true", first.Annotations["flyte.org/app-secrets"])
	f.awaitDeployments("1×1")
	var found corev1.SecretList
	require.NoError(t, f.Client.List(t.Context(), &found, client.InNamespace(f.Namespace)))
	require.Len(t, found.Items, 1)
	versions := [2]int{}
	for i, version := range []string{first.ResourceVersion, found.Items[0].ResourceVersion} { // a Secret of a revision never changes
		versions[i], err = strconv.Atoi(version)
		require.NoError(t, err)
	}
	require.Less(t, versions[0], versions[1])
}

// A connector is an app like any other: what it asks for is injected as variables and as files.
func TestSecretsOfAConnectorAreInjected(t *testing.T) {
	f := newFixture(t)
	f.secrets["token"], f.secrets["certificate"] = "first", "second"
	f.fleet.want(hello("uid-15", revision(1, 1, func(spec *app.Spec) {
		spec.Profile = &app.Profile{Type: "connector", Name: "tools"}
		spec.GetContainer().Command, spec.GetContainer().Args = nil, []string{"c0", "--port", "8080"}
		spec.SecurityContext = &app.SecurityContext{Secrets: []*core.Secret{
			{Key: "token", MountRequirement: core.Secret_ENV_VAR, EnvVar: "TOKEN"}, {Key: "certificate", MountRequirement: core.Secret_FILE},
		}}
	})), false)
	f.start()
	f.awaitDeployments("1×1")
	pod := f.deployment(1).Spec.Template.Spec
	container := pod.Containers[0]
	require.Equal(t, []string{"c0", "--port", "8080"}, container.Args)
	var from *corev1.SecretKeySelector
	for _, variable := range container.Env {
		if variable.Name == "TOKEN" {
			from = variable.ValueFrom.SecretKeyRef
		}
	}
	require.NotNil(t, from, "the variable that it names")
	secret, err := f.Clientset.CoreV1().Secrets(f.Namespace).Get(t.Context(), from.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "first", string(secret.Data[from.Key]))
	var mounted *corev1.SecretProjection
	for _, volume := range pod.Volumes {
		if volume.Projected != nil && volume.Name == container.VolumeMounts[0].Name {
			mounted = volume.Projected.Sources[0].Secret
		}
	}
	require.NotNil(t, mounted, "the file")
	require.Equal(t, "/etc/flyte/secrets/certificate", container.VolumeMounts[0].MountPath+"/"+mounted.Items[0].Path)
	secret, err = f.Clientset.CoreV1().Secrets(f.Namespace).Get(t.Context(), mounted.Name, metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, "second", string(secret.Data[mounted.Items[0].Key]))
}
