package sqltext

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Enum values as literals for SQL text. They cannot be parameters, because the planner uses a partial index only when
// the text of a query implies the predicate of the index. They are built from the Go constants, so that numbers in
// SQL cannot drift from their names. RECOVERED is the only one with two digits.
const (
	Succeeded = string(rune('0' + state.Succeeded))
	Failed    = string(rune('0' + state.Failed))
	Aborted   = string(rune('0' + state.Aborted))
	TimedOut  = string(rune('0' + state.TimedOut))
	Paused    = string(rune('0' + state.Paused))
	Queued    = string(rune('0' + state.Queued))
	Running   = string(rune('0' + state.Running))
	// WaitingForResources has not begun, like Queued.
	WaitingForResources = string(rune('0' + state.WaitingForResources))
	Initializing        = string(rune('0' + state.Initializing))

	Task      = string(rune('0' + schema.ActionTask))
	Trace     = string(rune('0' + schema.ActionTrace))
	Condition = string(rune('0' + schema.ActionCondition))

	NoHold    = string(rune('0' + schema.HoldNone))
	Executor  = string(rune('0' + schema.RunnerExecutor))
	Builtin   = string(rune('0' + schema.RunnerBuiltin))
	Pool      = string(rune('0' + schema.RunnerPool))
	Connector = string(rune('0' + schema.RunnerConnector))
	DueStart  = string(rune('0' + schema.DueStart))
	CacheHit  = string(rune('0' + core.CatalogCacheStatus_CACHE_HIT))
	NoCache   = string(rune('0' + core.CatalogCacheStatus_CACHE_DISABLED))
	Recovery  = string(rune('0' + common.RelationType_RELATION_TYPE_RECOVER))
	IsActive  = string(rune('0' + project.ProjectState_PROJECT_STATE_ACTIVE))
	Recovered = string(rune('0'+state.Recovered/10)) + string(rune('0'+state.Recovered%10))
)

// OnCluster are the runners of Runner.OnCluster, for IN.
const OnCluster = `(` + Executor + `, ` + Pool + `)`

// Assigned are the runners of Runner.Assigned, for IN.
const Assigned = `(` + Executor + `, ` + Pool + `, ` + Connector + `)`

// Admitted are the runners of Runner.Admitted, as rows of VALUES.
const Admitted = `(` + Executor + `::smallint), (` + Builtin + `::smallint), (` + Pool + `::smallint), (` + Connector + `::smallint)`

// Lists of phases, for IN.
const (
	GoodPhases     = `(` + Succeeded + `, ` + Recovered + `)`
	FailedPhases   = `(` + Failed + `, ` + TimedOut + `)`
	TerminalPhases = `(` + Succeeded + `, ` + Failed + `, ` + Aborted + `, ` + TimedOut + `, ` + Recovered + `)`
)
