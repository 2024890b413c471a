package store

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// Enum values as literals for SQL text. They cannot be parameters, because the planner uses a partial index only when
// the text of a query implies the predicate of the index. They are built from the Go constants, so that numbers in
// SQL cannot drift from their names. RECOVERED is the only one with two digits.
const (
	sqlSucceeded = string(rune('0' + state.Succeeded))
	sqlFailed    = string(rune('0' + state.Failed))
	sqlAborted   = string(rune('0' + state.Aborted))
	sqlTimedOut  = string(rune('0' + state.TimedOut))
	sqlPaused    = string(rune('0' + state.Paused))
	sqlQueued    = string(rune('0' + state.Queued))

	sqlTask      = string(rune('0' + actionTask))
	sqlTrace     = string(rune('0' + actionTrace))
	sqlCondition = string(rune('0' + actionCondition))

	sqlNoHold    = string(rune('0' + HoldNone))
	sqlExecutor  = string(rune('0' + RunnerExecutor))
	sqlBuiltin   = string(rune('0' + RunnerBuiltin))
	sqlPool      = string(rune('0' + RunnerPool))
	sqlDueStart  = string(rune('0' + DueStart))
	sqlCacheHit  = string(rune('0' + core.CatalogCacheStatus_CACHE_HIT))
	sqlRecovery  = string(rune('0' + common.RelationType_RELATION_TYPE_RECOVER))
	sqlIsActive  = string(rune('0' + project.ProjectState_PROJECT_STATE_ACTIVE))
	sqlRecovered = string(rune('0'+state.Recovered/10)) + string(rune('0'+state.Recovered%10))
)

// sqlOnCluster are the runners of Runner.OnCluster, for IN.
const sqlOnCluster = `(` + sqlExecutor + `, ` + sqlPool + `)`

// Lists of phases, for IN.
const (
	sqlGoodPhases     = `(` + sqlSucceeded + `, ` + sqlRecovered + `)`
	sqlFailedPhases   = `(` + sqlFailed + `, ` + sqlTimedOut + `)`
	sqlTerminalPhases = `(` + sqlSucceeded + `, ` + sqlFailed + `, ` + sqlAborted + `, ` + sqlTimedOut + `, ` + sqlRecovered + `)`
)
