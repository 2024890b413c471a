package charts_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
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
	"github.com/flyte-binary/flyte-binary/runs/placement"
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

	kubectl(t, east, append(documented(t, "kubectl --context east create namespace"), "--dry-run=server")...)
	kubectl(t, east, documented(t, "kubectl --context east -n flyte create secret", "flyte", east.Namespace, "credential=fbc_…", "credential="+added.GetSecret())...)
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
	requireRefusedNothing(t, requests)
	role, err := east.Clientset.RbacV1().Roles(east.Namespace).Get(t.Context(), release, metav1.GetOptions{})
	require.NoError(t, err)
	for _, right := range granted("own", role.Rules) {
		require.NotContains(t, right, "secrets", "values of secrets are at the API")
	}

	upgrade := documented(t, "helm --kube-context home upgrade", "charts/flyte-binary", chart, "flyte", home.Namespace)
	text, err = helm(t, writeKubeconfig(t, home), upgrade...)
	require.NoError(t, err, text)
	require.Equal(t, []placement.Rule{{Labels: []string{"where=east"}, Cluster: "east"}}, prepare(t, home, home.Config).config.Runs.Placement.Rules)
	text, err = helm(t, writeKubeconfig(t, east), documented(t, "helm --kube-context east --namespace flyte uninstall", "flyte", east.Namespace)...)
	require.NoError(t, err, text)
	require.Empty(t, left(t, east), "what the release has left")
}

func requireRefusedNothing(t *testing.T, requests *recorder) {
	t.Helper()
	requests.mu.Lock()
	defer requests.mu.Unlock()
	require.Empty(t, requests.refused, "the chart must grant this too")
}

// kubectl runs a command as an administrator of a cluster.
func kubectl(t *testing.T, cluster *kubetest.Cluster, args ...string) {
	t.Helper()
	program, err := exec.LookPath("kubectl")
	if err != nil {
		t.Skip("kubectl is not installed, and the commands of docs/two-clusters.md need it")
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+writeKubeconfig(t, cluster))
	said, err := command.CombinedOutput()
	require.NoError(t, err, "%s: %s", args, said)
}

// documented are the arguments of a command of docs/two-clusters.md, which begins in some way. Its context is left out, since each
// cluster of the tests has a kubeconfig of its own, and words are replaced, each by the one after it.
func documented(t *testing.T, beginning string, words ...string) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/two-clusters.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(strings.ReplaceAll(string(page), "\\\n", " "), beginning)
	require.True(t, found, beginning)
	rest, _, _ := strings.Cut(after, "\n")
	fields := strings.Fields(strings.ReplaceAll(beginning+rest, "'", ""))
	args := fields[3:] // the program, --context and its value come first
	for i, arg := range args {
		for n := 0; n < len(words); n += 2 {
			if arg == words[n] {
				args[i] = words[n+1]
			}
		}
	}
	return args
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
	args := documented(t, "helm --kube-context east install", "charts/flyte-binary", chart, "flyte", namespace,
		"controlPlane.url=https://flyte.example.com", "controlPlane.url="+url)
	args = append(args, "--set", "crd.install=false") // the API servers of the tests have it
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
