package store

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

func TestLiteralsOfEnumsAreTheirNumbers(t *testing.T) {
	for literal, number := range map[string]any{
		sqlQueued: state.Queued, sqlSucceeded: state.Succeeded, sqlFailed: state.Failed, sqlAborted: state.Aborted,
		sqlTimedOut: state.TimedOut, sqlPaused: state.Paused, sqlRecovered: state.Recovered,
	} {
		require.Equal(t, fmt.Sprintf("%d", number), literal)
	}
	require.Equal(t, fmt.Sprintf("%d %d %d", actionTask, actionTrace, actionCondition), sqlTask+" "+sqlTrace+" "+sqlCondition)
	require.Equal(t, fmt.Sprintf("%d %d %d %d", HoldNone, RunnerExecutor, RunnerBuiltin, DueStart),
		sqlNoHold+" "+sqlExecutor+" "+sqlBuiltin+" "+sqlDueStart)
	require.Equal(t, fmt.Sprintf("%d %d %d", core.CatalogCacheStatus_CACHE_HIT, common.RelationType_RELATION_TYPE_RECOVER,
		project.ProjectState_PROJECT_STATE_ACTIVE), sqlCacheHit+" "+sqlRecovery+" "+sqlIsActive)
}

func TestListsOfPhasesFollowTheStateMachine(t *testing.T) {
	lists := map[string]func(state.Phase) bool{
		sqlTerminalPhases: state.Terminal,
		sqlFailedPhases:   state.Retryable,
		sqlGoodPhases:     func(p state.Phase) bool { return p == state.Succeeded || p == state.Recovered },
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
