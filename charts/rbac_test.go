package charts_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestRightsAreThoseThatTheServerUses installs the chart, runs a server with the configuration that it renders and as its
// service account, and goes through everything that the server does with a cluster. No request may be refused, and every
// right must have been used.
func TestRightsAreThoseThatTheServerUses(t *testing.T) {
	cluster := kubetest.New(t)
	own := cluster.Namespace
	install(t, cluster,
		"--set", "config.executor.plugins.enabled={pod,job}",
		"--set", "config.deployer.route.kind=ingress", "--set", "config.deployer.route.domain=localhost")
	requests := &recorder{own: own, seen: map[string]bool{}, refused: map[string]int{}}
	made := prepare(t, cluster, requests.watch(cluster.Config))
	f := newFlows(t, cluster, requests, projectID+"-"+domainID, made.start)
	for _, flow := range []func(){f.secrets, f.task, f.adoptedTask, f.measured, f.reusedTask, f.job, f.app, made.examine} {
		flow()
	}

	ctx := t.Context()
	role, err := cluster.Clientset.RbacV1().Roles(own).Get(ctx, release, metav1.GetOptions{})
	require.NoError(t, err)
	clusterRole, err := cluster.Clientset.RbacV1().ClusterRoles().Get(ctx, own+"-"+release, metav1.GetOptions{})
	require.NoError(t, err)
	requests.mu.Lock()
	defer requests.mu.Unlock()
	require.Empty(t, requests.refused, "the chart must grant this too")
	var unused []string
	for _, right := range slices.Concat(granted("own", role.Rules), granted("tasks", clusterRole.Rules)) {
		// An informer watches from the start where the API server can send what exists; elsewhere it lists first.
		if used := requests.seen[right] || requests.seen[strings.Replace(right, " list ", " watch ", 1)]; !used {
			unused = append(unused, right)
		}
	}
	require.Empty(t, unused, "nothing used this")
}

// TestRightsInListedNamespaces: with tasks.namespaces, the server works without any right elsewhere.
func TestRightsInListedNamespaces(t *testing.T) {
	cluster, tasks := kubetest.New(t), kubetest.New(t).Namespace
	install(t, cluster, "--set", "tasks.namespaces={"+tasks+"}")
	requests := &recorder{own: cluster.Namespace, seen: map[string]bool{}, refused: map[string]int{}}
	f := newFlows(t, cluster, requests, tasks, prepare(t, cluster, requests.watch(cluster.Config)).start)
	f.secrets()
	f.task()
	f.reusedTask()
	f.abort(f.create("held", holds, nil))
	_, err := cluster.Clientset.RbacV1().ClusterRoles().Get(t.Context(), cluster.Namespace+"-"+release, metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
	requests.mu.Lock()
	defer requests.mu.Unlock()
	require.Empty(t, requests.refused)
}

// install installs the chart without its definition, which the API server of the tests has.
func install(t *testing.T, cluster *kubetest.Cluster, values ...string) {
	t.Helper()
	kubeconfig := writeKubeconfig(t, cluster)
	args := slices.Concat([]string{"install", release, chart, "--namespace", cluster.Namespace, "--set", "crd.install=false"}, installable, values)
	text, err := helm(t, kubeconfig, args...)
	require.NoError(t, err, text)
	t.Cleanup(func() {
		text, err := helm(t, kubeconfig, "uninstall", release, "--namespace", cluster.Namespace)
		require.NoError(t, err, text)
	})
}

// replica is a server as the release would start it: with its configuration and as its service account. Database and object
// store are those of the test.
type replica struct {
	t          *testing.T
	config     configuration.Config
	connection *rest.Config
}

func prepare(t *testing.T, cluster *kubetest.Cluster, connection *rest.Config) *replica {
	t.Helper()
	found, err := cluster.Clientset.CoreV1().ConfigMaps(cluster.Namespace).Get(t.Context(), release, metav1.GetOptions{})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "flyte.yaml")
	require.NoError(t, os.WriteFile(path, []byte(found.Data["flyte.yaml"]), 0o600))
	config, err := configuration.Load(path, []string{
		"server.listen=127.0.0.1:0", "database.url=" + pgtest.URL(pgtest.Schemas(t, manager.Schemas()...)), "storage.url=" + t.TempDir(),
		"storage.signingKey=" + strings.Repeat("k", 32), "executor.reconciler.statusDelay=1ms", "replicas.lease.duration=3s",
		"executor.reconciler.sweep=200ms", "executor.measure.interval=1s", "executor.reconciler.orphanAge=1ms", "apps.scaledownPeriod=1s", "apps.interval=100ms",
	})
	require.NoError(t, err)
	connection = rest.CopyConfig(connection)
	connection.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + cluster.Namespace + ":" + release,
		Groups:   []string{"system:serviceaccounts", "system:authenticated"},
	}
	return &replica{t, config, connection}
}

// start starts the server and returns its URL and what stops it.
func (r *replica) start() (string, func()) {
	log := zerolog.New(zerolog.NewTestWriter(r.t)).Level(zerolog.WarnLevel)
	server, err := manager.Complete(r.t.Context(), r.config, manager.Options{Logger: log, REST: r.connection})
	require.NoError(r.t, err)
	stop := sync.OnceFunc(func() {
		require.NoError(r.t, server.Stop(context.WithoutCancel(r.t.Context())))
		http.DefaultClient.CloseIdleConnections()
	})
	r.t.Cleanup(stop)
	require.NoError(r.t, server.Start(r.t.Context()))
	return "http://" + server.Addr(), stop
}

// examine does what flyte-binary doctor does.
func (r *replica) examine() {
	for _, finding := range manager.Examine(r.t.Context(), r.config, r.connection) {
		if finding.What == "API server" || finding.What == "rights" || finding.What == "TaskAction definition" {
			require.NoError(r.t, finding.Err, finding.What)
		}
	}
}
