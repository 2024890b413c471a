package connectors

import (
	"slices"
	"strings"

	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// unrecognized begins what the SDK's connector library says of a state of the cloud for which it has no phase.
const unrecognized = "Unrecognized state: "

// waitingStates are states of Snowflake and Databricks that the library does not know. A job in one of them has not ended.
var waitingStates = []string{
	"queued", "blocked", "resuming_warehouse", "queued_reparing_warehouse", "queued_repairing_warehouse", "restarted", "no_data", "waiting_for_retry",
}

// waiting is the state of a job about which the connector library fails because the job waits in its cloud; nil for other errors.
func waiting(err error) *connectorv2.Resource {
	_, state, found := strings.Cut(said(err), unrecognized)
	state, _, _ = strings.Cut(strings.TrimSpace(state), "\n")
	state = strings.ToLower(strings.Trim(state, `."' `))
	if !found || !slices.Contains(waitingStates, state) {
		return nil
	}
	return &connectorv2.Resource{Phase: core.TaskExecution_QUEUED, Message: state}
}
