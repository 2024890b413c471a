package manager_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/test/certtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/runs/queues"
)

// controlled is a cluster with a controller of its own and a node that counts the pods it ran.
type controlled struct {
	*kubetest.Cluster
	id       string
	listener net.Listener
	ran      atomic.Int32
	endpoint atomic.Value  // where its tasks call the API
	release  chan struct{} // closed when tasks of the image held:1 may end
}

func newControlled(t *testing.T, id string) *controlled {
	t.Helper()
	c := &controlled{Cluster: kubetest.New(t), id: id, listener: listenLocally(t), release: make(chan struct{})}
	log := func(pod, _ string) string { return "2026-01-02T03:04:05Z this is " + pod + "\n" }
	kubetest.StartNode(t, c.Cluster, kubetest.NodeOptions{Log: log, Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		container := pod.Spec.Containers[0]
		if container.Image == "held:1" {
			select {
			case <-c.release:
			case <-ctx.Done():
			}
		}
		for _, variable := range container.Env {
			if variable.Name == "_U_EP_OVERRIDE" {
				c.endpoint.Store(variable.Value)
			}
		}
		if os.MkdirAll(container.Args[0], 0o755) != nil || os.WriteFile(filepath.Join(container.Args[0], "outputs.pb"), nil, 0o600) != nil {
			return kubetest.Result{ExitCode: 1}
		}
		c.ran.Add(1)
		return kubetest.Result{}
	}})
	return c
}

func (c *controlled) url() string { return "http://" + c.listener.Addr().String() }

func listenLocally(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}

// TestTwoClustersOnOneDatabase runs the API and the controllers of two clusters as three processes would: they share a
// database, which the controllers do not reach, and an object store. A queue decides on the cluster.
func TestTwoClustersOnOneDatabase(t *testing.T) {
	home, east := newControlled(t, "default"), newControlled(t, "east")
	api := listenLocally(t)

	shared := testConfig(t)
	shared.Auth.InternalToken = "internal"
	shared.Replicas.Installation = "home"
	shared.Storage.SigningKey = strings.Repeat("k", 32)
	config := shared
	config.Target = configuration.TargetAPI
	config.Clusters = []configuration.RemoteCluster{{ID: home.id, URL: home.url()}, {ID: east.id, URL: east.url()}}
	config.Runs.Queues = []queues.Queue{{Name: "far", Cluster: east.id}}
	startPart(t, config, api, nil)
	for _, c := range []*controlled{home, east} {
		config := shared
		config.Target, config.Cluster.ID = configuration.TargetController, c.id
		config.Database.URL = ""
		config.ControlPlane.URL = "http://" + api.Addr().String()
		config.Actions.TaskActions.Namespace = c.Namespace
		config.Executor.Namespaces = []string{c.Namespace}
		config.Replicas.Several, config.Replicas.Namespace, config.Replicas.Lease.Duration = true, c.Namespace, 3*time.Second
		startPart(t, config, c.listener, c.Cluster)
		for _, finding := range manager.Examine(t.Context(), config, c.Config) {
			require.NoError(t, finding.Err, finding.What)
		}
		config.Auth.InternalToken = "another"
		findings := manager.Examine(t.Context(), config, c.Config)
		require.Equal(t, "control plane", findings[0].What)
		require.Contains(t, findings[0].Fix, "auth.internalToken")
	}

	runs := workflowconnect.NewRunServiceClient(h2c(t), "http://"+api.Addr().String(), connect.WithGRPC())
	succeed := func(name, queue string) {
		run := &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: name}
		_, err := runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
			Id: &workflow.CreateRunRequest_RunId{RunId: run},
			Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Id:     &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello.main", Version: "1"},
				Type:   "python",
				Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1", Args: []string{"{{.outputPrefix}}"}}},
			}}},
			RunSpec: &task.RunSpec{Queue: queue},
		})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
			require.NoError(t, err)
			return details.GetDetails().GetAction().GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED
		}, time.Minute, 20*time.Millisecond)
		logs, err := runs.GetActionLogContext(t.Context(), &workflow.GetActionLogContextRequest{
			ActionId: &common.ActionIdentifier{Run: run, Name: "a0"}, Attempt: 1,
		})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"": home.id, "far": east.id}[queue], logs.GetCluster(), "logs are read from the cluster that ran it")
	}
	succeed("here", "")
	require.Equal(t, []int32{1, 0}, []int32{home.ran.Load(), east.ran.Load()})
	succeed("there", "far")
	require.Equal(t, []int32{1, 1}, []int32{home.ran.Load(), east.ran.Load()})
	require.Equal(t, home.endpoint.Load(), east.endpoint.Load(), "tasks of both clusters call the same API")
	require.Contains(t, api.Addr().String(), strings.TrimPrefix(east.endpoint.Load().(string), "dns:///"))

	for _, c := range []*controlled{home, east} {
		leases, err := c.Clientset.CoordinationV1().Leases(c.Namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		require.Len(t, leases.Items, 1)
		require.Equal(t, map[string]string{"default": "flyte-binary-home", "east": "flyte-binary-home-east"}[c.id], leases.Items[0].Name)
	}
}

// TestAControllerApartWithMutualTLS runs the API and a controller as two processes that speak TLS and prove by certificates that they
// belong to the installation. The internal token alone opens nothing.
func TestAControllerApartWithMutualTLS(t *testing.T) {
	home, api := newControlled(t, "default"), listenLocally(t)
	authority, stranger, dir := certtest.New(t), certtest.New(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	authority.Issue(t, at("tls.crt"), at("tls.key"))
	authority.IssueClient(t, "flyte", at("client.crt"), at("client.key"))
	authority.IssueClient(t, "something-else", at("other.crt"), at("other.key"))
	stranger.IssueClient(t, "flyte", at("stranger.crt"), at("stranger.key"))
	shared := testConfig(t)
	shared.Auth.InternalToken, shared.Replicas.Installation, shared.Storage.SigningKey = "internal", "home", strings.Repeat("k", 32)
	shared.Server.TLS = configuration.TLSConfig{CertFile: at("tls.crt"), KeyFile: at("tls.key")}
	shared.Auth.TLS = configuration.InternalTLSConfig{CAFile: authority.File, CertFile: at("client.crt"), KeyFile: at("client.key"), Names: []string{"flyte"}}
	start := func(config configuration.Config, listener net.Listener, options manager.Options) {
		options.Logger, options.Listener = zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel), listener
		server, err := manager.Complete(t.Context(), config, options)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
		require.NoError(t, server.Start(t.Context()))
	}
	config := shared
	config.Target = configuration.TargetAPI
	config.Clusters = []configuration.RemoteCluster{{ID: home.id, URL: "https://" + home.listener.Addr().String()}}
	start(config, api, manager.Options{})
	config = shared
	config.Target, config.Database.URL = configuration.TargetController, ""
	config.ControlPlane.URL = "https://" + api.Addr().String()
	config.Actions.TaskActions.Namespace, config.Executor.Namespaces = home.Namespace, []string{home.Namespace}
	start(config, home.listener, manager.Options{REST: home.Config})

	examined := func(change func(*configuration.Config)) error {
		changed := config
		change(&changed)
		findings := manager.Examine(t.Context(), changed, home.Config)
		require.Equal(t, "control plane", findings[0].What)
		return findings[0].Err
	}
	with := func(name string) func(*configuration.Config) {
		return func(c *configuration.Config) {
			c.Auth.TLS.CertFile, c.Auth.TLS.KeyFile = at(name+".crt"), at(name+".key")
		}
	}
	require.NoError(t, examined(func(*configuration.Config) {}))
	const denied = connect.CodePermissionDenied
	require.Equal(t, denied, connect.CodeOf(examined(func(c *configuration.Config) { c.Auth.TLS.CertFile, c.Auth.TLS.KeyFile = "", "" })), "no certificate")
	require.Equal(t, denied, connect.CodeOf(examined(with("other"))), "a certificate with another name")
	require.Equal(t, denied, connect.CodeOf(examined(func(c *configuration.Config) { c.Auth.InternalToken = "another" })), "a certificate alone")
	require.Error(t, examined(with("stranger")), "of another authority")
	require.Equal(t, denied, connect.CodeOf(examined(func(c *configuration.Config) {
		c.ControlPlane.URL = "http://" + api.Addr().String() // a port on loopback speaks plain text as well
	})), "the token without TLS")

	runs := workflowconnect.NewRunServiceClient(h2c(t), "http://"+api.Addr().String(), connect.WithGRPC())
	run := &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: "apart"}
	_, err := runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: run},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Id:     &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello.main", Version: "1"},
			Type:   "python",
			Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1", Args: []string{"{{.outputPrefix}}"}}},
		}}},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
		require.NoError(t, err)
		return details.GetDetails().GetAction().GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED
	}, time.Minute, 20*time.Millisecond)
	logs, err := runs.GetActionLogContext(t.Context(), &workflow.GetActionLogContextRequest{ActionId: &common.ActionIdentifier{Run: run, Name: "a0"}, Attempt: 1})
	require.NoError(t, err)
	require.Equal(t, home.id, logs.GetCluster(), "the API reaches the controller in the same way")
}

// startPart starts a server of one target until the test ends; without a cluster it has none.
func startPart(t *testing.T, config configuration.Config, listener net.Listener, cluster *kubetest.Cluster) {
	t.Helper()
	options := manager.Options{Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel), Listener: listener}
	if cluster != nil {
		options.REST = cluster.Config
	}
	server, err := manager.Complete(t.Context(), config, options)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	require.NoError(t, server.Start(t.Context()))
}
