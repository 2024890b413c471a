package goclient_test

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

const (
	organization = "local"
	project      = "flytesnacks"
	domain       = "development"
)

// waitLimit bounds everything that a test waits for.
const waitLimit = 3 * time.Minute

func TestRunFromGo(t *testing.T) {
	for name, client := range clients(t, endpoint(t)) {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
			defer cancel()
			t.Run("to its end", func(t *testing.T) { toItsEnd(ctx, t, client) })
			t.Run("abort", func(t *testing.T) { abort(ctx, t, client) })
			t.Run("errors", func(t *testing.T) { failures(ctx, t, client) })
		})
	}
}

func toItsEnd(ctx context.Context, t *testing.T, client runService) {
	id := create(ctx, t, client, "echo done")
	phases := watch(ctx, t, client, id, isTerminal)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_SUCCEEDED, phases[len(phases)-1])
	require.IsNonDecreasing(t, phases, "a watch never goes back")

	listed, err := client.ListActions(ctx, &workflow.ListActionsRequest{RunId: id, Request: &common.ListRequest{Limit: 10}})
	require.NoError(t, err)
	require.Len(t, listed.GetActions(), 1)
	require.Equal(t, "a0", listed.GetActions()[0].GetId().GetName())

	runs, err := client.ListRuns(ctx, &workflow.ListRunsRequest{
		Request: &common.ListRequest{Limit: 50},
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{
			Organization: organization, Name: project, Domain: domain,
		}},
	})
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(runs.GetRuns(), func(run *workflow.Run) bool {
		return run.GetAction().GetId().GetRun().GetName() == id.GetName()
	}), "the run is among the newest")

	details, err := client.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: id})
	require.NoError(t, err)
	require.Len(t, details.GetDetails().GetAction().GetAttempts(), 1)
}

func abort(ctx context.Context, t *testing.T, client runService) {
	id := create(ctx, t, client, "sleep 600")
	watch(ctx, t, client, id, func(phase common.ActionPhase) bool { return phase == common.ActionPhase_ACTION_PHASE_RUNNING })
	_, err := client.AbortRun(ctx, &workflow.AbortRunRequest{RunId: id, Reason: proto.String("no longer wanted")})
	require.NoError(t, err)
	phases := watch(ctx, t, client, id, isTerminal)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_ABORTED, phases[len(phases)-1])
}

func failures(ctx context.Context, t *testing.T, client runService) {
	_, err := client.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: identifier("nobody-made-it")})
	require.Equal(t, uint32(connect.CodeNotFound), client.code(err), err)
	_, err = client.CreateRun(ctx, &workflow.CreateRunRequest{})
	require.Equal(t, uint32(connect.CodeInvalidArgument), client.code(err), err)
	err = client.watch(ctx, &workflow.WatchRunDetailsRequest{}, func(*workflow.RunDetails) bool { return true })
	require.Equal(t, uint32(connect.CodeInvalidArgument), client.code(err), err)
}

// create creates a run of a shell script.
func create(ctx context.Context, t *testing.T, client runService, script string) *common.RunIdentifier {
	t.Helper()
	name := "g" + strings.ToLower(rand.Text())[:15]
	request := &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: identifier(name)},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{
			ShortName: "script",
			TaskTemplate: &core.TaskTemplate{
				Id: &core.Identifier{
					ResourceType: core.ResourceType_TASK, Org: organization, Project: project, Domain: domain, Name: "go.script", Version: "1",
				},
				Type: "raw-container",
				Target: &core.TaskTemplate_Container{Container: &core.Container{
					Image: "shell", Command: []string{"/bin/sh", "-c"}, Args: []string{script},
				}},
			},
		}},
		InputWrapper: &workflow.CreateRunRequest_Inputs{Inputs: &task.Inputs{}},
		RunSpec:      &task.RunSpec{},
	}
	created, err := client.CreateRun(ctx, request)
	require.NoError(t, err)
	id := created.GetRun().GetAction().GetId().GetRun()
	require.Equal(t, name, id.GetName())
	again, err := client.CreateRun(ctx, request)
	require.NoError(t, err, "the same request is the same run")
	require.Equal(t, name, again.GetRun().GetAction().GetId().GetRun().GetName())
	return id
}

// watch follows the run until it has a wanted phase, and returns all phases seen.
func watch(
	ctx context.Context, t *testing.T, client runService, id *common.RunIdentifier, wanted func(common.ActionPhase) bool,
) []common.ActionPhase {
	t.Helper()
	var phases []common.ActionPhase
	require.NoError(t, client.watch(ctx, &workflow.WatchRunDetailsRequest{RunId: id}, func(details *workflow.RunDetails) bool {
		phase := details.GetAction().GetStatus().GetPhase()
		phases = append(phases, phase)
		require.False(t, isTerminal(phase) && !wanted(phase), "the run ended %s: %v", phase, details.GetAction().GetErrorInfo())
		return wanted(phase)
	}))
	return phases
}

func isTerminal(phase common.ActionPhase) bool {
	switch phase {
	case common.ActionPhase_ACTION_PHASE_SUCCEEDED, common.ActionPhase_ACTION_PHASE_FAILED,
		common.ActionPhase_ACTION_PHASE_ABORTED, common.ActionPhase_ACTION_PHASE_TIMED_OUT:
		return true
	}
	return false
}

func identifier(name string) *common.RunIdentifier {
	return &common.RunIdentifier{Org: organization, Project: project, Domain: domain, Name: name}
}
