package spark

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

// TestWhoseFailureItIs: an application that could not be submitted ends in the same state as one whose program failed.
func TestWhoseFailureItIs(t *testing.T) {
	for _, executions := range []int64{0, 1} {
		reading := read(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"executionAttempts": executions, "applicationState": map[string]any{"state": "FAILED", "errorMessage": "m"},
		}}})
		require.Equal(t, common.ActionPhase_ACTION_PHASE_FAILED, reading.Phase)
		require.Equal(t, executions > 0, reading.ByUser)
		require.Equal(t, "m", reading.Message)
	}
}
