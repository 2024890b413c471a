package charts_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1/clustersv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

// elsewhere is a domain whose namespace no other test needs to be created, as one of them checks that it is.
const elsewhere = "staging"

// TestTwoReleasesInTwoClusters installs a release with everything in one cluster, registers a second cluster, and installs a controller
// there, with an API server of its own. A run that is placed on each succeeds there. The controller needs no more than the rights of
// its release, and has nothing by which it could be called.
func TestTwoReleasesInTwoClusters(t *testing.T) {
	home, east := kubetest.New(t), kubetest.Another(t)
	install(t, home)
	whole := prepare(t, home, home.Config)
	whole.config.Replicas.Installation = "prod"
	url, _ := whole.start()
	registry := clustersv1connect.NewClusterRegistryServiceClient(http.DefaultClient, url)
	added, err := registry.AddCluster(t.Context(), &clustersv1.AddClusterRequest{Name: "east"})
	require.NoError(t, err)

	secrets := east.Clientset.CoreV1().Secrets(east.Namespace)
	_, err = secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "flyte-credential"}, StringData: map[string]string{"credential": added.GetSecret()},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	text, err := helm(t, writeKubeconfig(t, east), documentedInstall(t, east.Namespace, url)...)
	require.NoError(t, err, text)
	require.Contains(t, text, "controller of the cluster east")
	requireNotCalled(t, east)

	requests := &recorder{own: east.Namespace, seen: map[string]bool{}, refused: map[string]int{}}
	controller := prepareController(t, east, requests.watch(east.Config), whole)
	require.Equal(t, "east", controller.config.Cluster.ID)
	ran := map[string]*atomic.Int32{"default": countPods(t, home), "east": countPods(t, east)}
	controller.start()
	runs := workflowconnect.NewRunServiceClient(http.DefaultClient, url)
	for _, cluster := range []string{"east", "default"} {
		_, err := registry.UpdateCluster(t.Context(), &clustersv1.UpdateClusterRequest{Name: cluster, Pools: &clustersv1.Pools{Names: []string{"pool-" + cluster}}})
		require.NoError(t, err)
		// A pool counts from the second in which the placement has read that its cluster is connected. Runs before that go elsewhere.
		tries := 0
		require.Eventually(t, func() bool {
			before, name := ran[cluster].Load(), fmt.Sprintf("on-%s-%d", cluster, tries)
			tries++
			return runInPool(t, runs, name, "pool-"+cluster) && ran[cluster].Load() == before+1
		}, 2*time.Minute, 100*time.Millisecond, cluster)
	}
	requests.mu.Lock()
	defer requests.mu.Unlock()
	require.Empty(t, requests.refused, "the chart must grant this too")
	role, err := east.Clientset.RbacV1().Roles(east.Namespace).Get(t.Context(), release, metav1.GetOptions{})
	require.NoError(t, err)
	for _, right := range granted("own", role.Rules) {
		require.NotContains(t, right, "secrets", "values of secrets are at the API")
	}
}

// runInPool runs a task until it has succeeded. It reports false if the pool is not known yet.
func runInPool(t *testing.T, runs workflowconnect.RunServiceClient, name, pool string) bool {
	t.Helper()
	run := &common.RunIdentifier{Project: projectID, Domain: elsewhere, Name: name}
	_, err := runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: run}, RunSpec: &task.RunSpec{ClusterPool: pool},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Id: &core.Identifier{Project: projectID, Domain: elsewhere, Name: "two.main", Version: "1"}, Type: "python",
			Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1", Args: []string{"{{.outputPrefix}}"}}},
		}}},
	})
	if err != nil {
		require.ErrorContains(t, err, "there is no pool")
		return false
	}
	require.Eventually(t, func() bool {
		details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
		require.NoError(t, err)
		require.NotEqual(t, common.ActionPhase_ACTION_PHASE_FAILED, details.GetDetails().GetAction().GetStatus().GetPhase(), details)
		return details.GetDetails().GetAction().GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED
	}, 2*time.Minute, 20*time.Millisecond, name)
	return true
}

// documentedInstall are the arguments of the command by which docs/two-clusters.md installs a controller, for a namespace and an API.
func documentedInstall(t *testing.T, namespace, url string) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/two-clusters.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "helm --kube-context east install")
	require.True(t, found)
	command, _, _ := strings.Cut(strings.ReplaceAll(after, "\\\n", " "), "\n")
	args := append([]string{"install"}, strings.Fields(command)...)
	args = append(args, "--set", "crd.install=false") // the API servers of the tests have it
	for i, arg := range args {
		switch arg {
		case "charts/flyte-binary":
			args[i] = chart
		case "flyte":
			args[i] = namespace
		case "controlPlane.url=https://flyte.example.com":
			args[i] = "controlPlane.url=" + url
		}
	}
	require.Contains(t, args, "controlPlane.url="+url)
	require.Contains(t, args, namespace)
	return args
}

// requireNotCalled: the release of a controller has no Service, Ingress or HTTPRoute, no Secret and no open port.
func requireNotCalled(t *testing.T, cluster *kubetest.Cluster) {
	t.Helper()
	names := left(t, cluster)
	for _, name := range names {
		kind, _, _ := strings.Cut(name, " ")
		require.NotContains(t, []string{"Service", "Ingress", "HTTPRoute", "Secret", "StatefulSet"}, kind, name)
	}
	require.True(t, slices.Contains(names, "Deployment "+release), names)
	policy, err := cluster.Clientset.NetworkingV1().NetworkPolicies(cluster.Namespace).Get(t.Context(), release, metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, policy.Spec.Ingress, "nothing is let in")
}

// prepareController is the controller as its release would start it, with the object store of the other one.
func prepareController(t *testing.T, cluster *kubetest.Cluster, connection *rest.Config, other *replica) *replica {
	t.Helper()
	made := prepare(t, cluster, connection)
	made.config.Storage = other.config.Storage
	made.config.Database.URL = ""
	deployment, err := cluster.Clientset.AppsV1().Deployments(cluster.Namespace).Get(t.Context(), release, metav1.GetOptions{})
	require.NoError(t, err)
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for _, variable := range container.Env {
			require.NotContains(t, variable.Name, "DATABASE")
			require.NotContains(t, variable.Name, "SIGNINGKEY")
			require.NotContains(t, variable.Name, "INTERNALTOKEN")
		}
	}
	// What the volume of the release shows as a file.
	require.Equal(t, "/etc/flyte-secrets/credential/credential", made.config.ControlPlane.CredentialFile)
	secret, err := cluster.Clientset.CoreV1().Secrets(cluster.Namespace).Get(t.Context(), "flyte-credential", metav1.GetOptions{})
	require.NoError(t, err)
	made.config.ControlPlane.CredentialFile = filepath.Join(t.TempDir(), "credential")
	require.NoError(t, os.WriteFile(made.config.ControlPlane.CredentialFile, secret.Data["credential"], 0o600))
	return made
}

// countPods starts a node that writes the outputs of tasks, and counts them.
func countPods(t *testing.T, cluster *kubetest.Cluster) *atomic.Int32 {
	t.Helper()
	ran := &atomic.Int32{}
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{AllNamespaces: true, Program: func(_ context.Context, pod *corev1.Pod) kubetest.Result {
		args := pod.Spec.Containers[0].Args
		if len(args) != 1 || os.MkdirAll(args[0], 0o755) != nil || os.WriteFile(filepath.Join(args[0], "outputs.pb"), nil, 0o600) != nil {
			return kubetest.Result{ExitCode: 1}
		}
		ran.Add(1)
		return kubetest.Result{}
	}})
	return ran
}
