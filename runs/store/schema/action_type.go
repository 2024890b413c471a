package schema

import "github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"

// The types of actions, as rows keep them.
const (
	ActionTask      = int16(workflow.ActionType_ACTION_TYPE_TASK)
	ActionTrace     = int16(workflow.ActionType_ACTION_TYPE_TRACE)
	ActionCondition = int16(workflow.ActionType_ACTION_TYPE_CONDITION)
)
