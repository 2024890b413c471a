package dispatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
)

// TestFailedAttemptAlwaysHasAnError: what the executor says wins, then what the event says, then a default.
func TestFailedAttemptAlwaysHasAnError(t *testing.T) {
	at := timestamppb.New(time.Unix(1_700_000_000, 0))
	said := &core.ExecutionError{Code: "ValueError", Message: "no"}
	for name, c := range map[string]struct {
		info    *workflow.ErrorInfo
		failure *core.ExecutionError
		want    *core.ExecutionError
	}{
		"executor": {&workflow.ErrorInfo{Message: "ignored"}, said, said},
		"event": {
			&workflow.ErrorInfo{Message: "it broke", Kind: workflow.ErrorInfo_KIND_USER}, nil,
			&core.ExecutionError{Code: "Unknown", Message: "it broke", Kind: core.ExecutionError_USER, Timestamp: at},
		},
		"nothing": {nil, nil, &core.ExecutionError{Code: "Unknown", Message: "the attempt ended without an explanation", Timestamp: at}},
	} {
		change, err := dispatch.Transition(&workflow.ActionEvent{
			Phase: common.ActionPhase_ACTION_PHASE_FAILED, ErrorInfo: c.info, UpdatedTime: at,
		}, c.failure)
		require.NoError(t, err, name)
		got := &core.ExecutionError{}
		require.NoError(t, proto.Unmarshal(change.Error, got))
		require.True(t, proto.Equal(c.want, got), "%s: %v", name, got)
	}
	change, err := dispatch.Transition(&workflow.ActionEvent{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}, nil)
	require.NoError(t, err)
	require.Nil(t, change.Error)
}
