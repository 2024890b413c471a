package manager_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

// TestVersionsOfRealPrograms runs an API with controllers that were built with other versions: a run succeeds through each that is one
// minor version apart, and both sides and the operator read why another is refused.
func TestVersionsOfRealPrograms(t *testing.T) {
	dir := os.Getenv("FLYTE_VERSIONS")
	if dir == "" {
		t.Skip("programs of several versions are built by `make versions-test`")
	}
	home := newControlled(t, "default")
	f := newFleet(t, home.Cluster, 3*time.Second)
	program := func(version string) string { return filepath.Join(dir, version) }
	shared := []string{"auth.internalToken=internal", "replicas.installation=home"}
	api := f.add(program("1.4.0"), append([]string{"target=api"}, shared...)...)
	controller := func(version string) *logged {
		return &logged{f.add(program(version), append([]string{"target=controller", "database.url=", "controlPlane.url=" + api.url}, shared...)...)}
	}
	list := func() string {
		out, err := exec.CommandContext(t.Context(), program("1.4.0"), "clusters", "list", "--config", f.config).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}

	runs := workflowconnect.NewRunServiceClient(h2c(t), api.url, connect.WithGRPC())
	for _, version := range []string{"1.3.0", "1.5.0"} {
		near := controller(version)
		run := &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: "by-" + strings.ReplaceAll(version, ".", "-")}
		_, err := runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
			Id: &workflow.CreateRunRequest_RunId{RunId: run},
			Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Id: &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello.main", Version: "1"}, Type: "python",
				Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1", Args: []string{"{{.outputPrefix}}"}}},
			}}},
		})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
			require.NoError(t, err)
			return details.GetDetails().GetAction().GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED
		}, 2*time.Minute, 50*time.Millisecond, version)
		require.NotContains(t, list(), "is refused")
		near.end(t)
	}

	far := controller("1.2.0")
	const words = "the controller of cluster default is of version 1.2.0, and the API of version 1.4.0"
	require.Eventually(t, func() bool { return strings.Contains(far.said(t), words) }, time.Minute, 100*time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains((&logged{api}).said(t), words) }, time.Minute, 100*time.Millisecond)
	require.Contains(t, list(), "its controller of version 1.2.0 is refused")
	far.end(t)
	require.Equal(t, 2, int(home.ran.Load()))
}

// logged is a program of which the test reads the log.
type logged struct{ *program }

func (p *logged) said(t *testing.T) string {
	t.Helper()
	body, err := os.ReadFile(p.log)
	require.NoError(t, err)
	return string(body)
}

func (p *logged) end(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	_, err := p.cmd.Process.Wait()
	require.NoError(t, err)
}
