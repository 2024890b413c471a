package store

import "github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"

// The types of actions, as rows keep them.
const (
	actionTask      = int16(workflow.ActionType_ACTION_TYPE_TASK)
	actionTrace     = int16(workflow.ActionType_ACTION_TYPE_TRACE)
	actionCondition = int16(workflow.ActionType_ACTION_TYPE_CONDITION)
)
