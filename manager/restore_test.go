package manager_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
)

// drill runs one of the scripts that operators use.
func drill(t *testing.T, name string, args ...string) {
	t.Helper()
	bin, err := pgembed.Find()
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), filepath.Join("..", "tools", "drills", name), args...)
	command.Env = append(os.Environ(), pgembed.BinDirEnv+"="+bin)
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// TestARestoredDatabaseMeetsTheClusterOfToday: the database is that of the backup, and the cluster and the object store
// continued. What the database does not know is removed from the cluster; what ended meanwhile runs again, since its end is lost; what
// still runs continues; and a result that no one knows of is not taken for that of a new run.
func TestARestoredDatabaseMeetsTheClusterOfToday(t *testing.T) {
	cluster := kubetest.New(t)
	var mu sync.Mutex
	executed, release := map[string]int{}, map[string]chan struct{}{}
	for _, name := range []string{"goes-on", "ends", "late", "late-done"} {
		release[name] = make(chan struct{})
	}
	times := func(name string) int {
		mu.Lock()
		defer mu.Unlock()
		return executed[name]
	}
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{SkipBinding: true, Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		args := pod.Spec.Containers[0].Args
		mu.Lock()
		executed[args[1]]++
		mu.Unlock()
		select {
		case <-release[args[1]]:
		case <-ctx.Done():
			return kubetest.Result{ExitCode: 1}
		}
		if os.MkdirAll(args[0], 0o755) != nil || os.WriteFile(filepath.Join(args[0], "outputs.pb"), nil, 0o600) != nil {
			return kubetest.Result{ExitCode: 1}
		}
		return kubetest.Result{}
	}})
	config := onCluster(t, cluster)
	serve := func() (workflowconnect.RunServiceClient, func()) {
		server, err := manager.Complete(t.Context(), config, manager.Options{REST: cluster.Config, Logger: zerolog.Nop()})
		require.NoError(t, err)
		stop := sync.OnceFunc(func() {
			http.DefaultClient.CloseIdleConnections()
			require.NoError(t, server.Stop(context.WithoutCancel(t.Context())))
		})
		t.Cleanup(stop)
		require.NoError(t, server.Start(t.Context()))
		return workflowconnect.NewRunServiceClient(http.DefaultClient, "http://"+server.Addr()), stop
	}
	runs, stop := serve()
	create := func(name string) {
		t.Helper()
		_, err := runs.CreateRun(t.Context(), sleeper(name))
		require.NoError(t, err)
	}
	phase := func(name string) common.ActionPhase {
		details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("flytesnacks", name)})
		if err != nil {
			return -1
		}
		return details.GetDetails().GetAction().GetStatus().GetPhase()
	}
	await := func(name string, want common.ActionPhase) {
		t.Helper()
		require.Eventually(t, func() bool { return phase(name) == want }, time.Minute, 10*time.Millisecond, "%s is to be %s", name, want)
	}
	const running, succeeded = common.ActionPhase_ACTION_PHASE_RUNNING, common.ActionPhase_ACTION_PHASE_SUCCEEDED

	create("goes-on")
	create("ends")
	await("goes-on", running)
	await("ends", running)
	backup := filepath.Join(t.TempDir(), "backup")
	drill(t, "backup.sh", config.Database.URL, backup)

	create("late")
	create("late-done")
	close(release["ends"])
	close(release["late-done"])
	await("ends", succeeded)
	await("late-done", succeeded)
	await("late", running)
	stop()

	config.Database.URL = pgtest.URL(pgtest.Empty(t))
	drill(t, "restore.sh", backup, config.Database.URL)
	runs, _ = serve()

	_, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runOf("flytesnacks", "late")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	require.Eventually(t, func() bool { // kubetest collects no garbage: the executor's sweep deletes pods without a TaskAction
		pods, err := cluster.Clientset.CoreV1().Pods(cluster.Namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "flyte.org/run=late"})
		return err == nil && len(pods.Items) == 0
	}, time.Minute, 10*time.Millisecond, "the pod of a run that the database does not know")
	await("ends", succeeded)
	require.Equal(t, 2, times("ends"), "its end was lost, so it ran again")
	require.Equal(t, running, phase("goes-on"))
	close(release["goes-on"])
	await("goes-on", succeeded)
	require.Equal(t, 1, times("goes-on"), "what still ran was not disturbed")

	create("late-done") // its outputs of before are in the object store
	await("late-done", succeeded)
	require.Equal(t, 2, times("late-done"), "a new run executes, whatever the object store has")
}
