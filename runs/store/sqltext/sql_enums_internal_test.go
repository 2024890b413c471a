package sqltext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

func TestLiteralsOfEnumsAreTheirNumbers(t *testing.T) {
	for literal, number := range map[string]any{
		Queued: state.Queued, WaitingForResources: state.WaitingForResources, Initializing: state.Initializing, Succeeded: state.Succeeded, Failed: state.Failed, Aborted: state.Aborted,
		TimedOut: state.TimedOut, Paused: state.Paused, Recovered: state.Recovered,
	} {
		require.Equal(t, fmt.Sprintf("%d", number), literal)
	}
	require.Equal(t, fmt.Sprintf("%d %d %d", schema.ActionTask, schema.ActionTrace, schema.ActionCondition), Task+" "+Trace+" "+Condition)
	require.Equal(t, fmt.Sprintf("%d %d %d %d", schema.HoldNone, schema.RunnerExecutor, schema.RunnerBuiltin, schema.DueStart),
		NoHold+" "+Executor+" "+Builtin+" "+DueStart)
	require.Equal(t, fmt.Sprintf("%d %d %d", core.CatalogCacheStatus_CACHE_HIT, common.RelationType_RELATION_TYPE_RECOVER,
		project.ProjectState_PROJECT_STATE_ACTIVE), CacheHit+" "+Recovery+" "+IsActive)
}

func TestListsOfRunnersFollowTheTable(t *testing.T) {
	var onCluster, admitted, assigned []string
	for _, runner := range schema.Runners(schema.Runner.OnCluster) {
		onCluster = append(onCluster, fmt.Sprint(int16(runner)))
	}
	for _, runner := range schema.Runners(schema.Runner.Assigned) {
		assigned = append(assigned, fmt.Sprint(int16(runner)))
	}
	for _, runner := range schema.Runners(schema.Runner.Admitted) {
		admitted = append(admitted, fmt.Sprintf("(%d::smallint)", runner))
	}
	require.Equal(t, "("+strings.Join(onCluster, ", ")+")", OnCluster)
	require.Equal(t, "("+strings.Join(assigned, ", ")+")", Assigned)
	require.Equal(t, strings.Join(admitted, ", "), Admitted)
}

func TestListsOfPhasesFollowTheStateMachine(t *testing.T) {
	lists := map[string]func(state.Phase) bool{
		TerminalPhases: state.Terminal,
		FailedPhases:   state.Retryable,
		GoodPhases:     func(p state.Phase) bool { return p == state.Succeeded || p == state.Recovered },
	}
	for list, has := range lists {
		var phases string
		for p := state.Phase(0); p < 100; p++ {
			if has(p) {
				phases += fmt.Sprintf(", %d", p)
			}
		}
		require.Equal(t, "("+phases[2:]+")", list)
	}
}
