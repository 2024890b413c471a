package pools

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/attempts/attempttest"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
)

// TestEndsAreReadAsEverywhere: a pod and a worker read exit codes and signals alike. A worker reports a signal only if it knows that
// the task sent it.
func TestEndsAreReadAsEverywhere(t *testing.T) {
	for _, tc := range attempttest.Ends() {
		t.Run(tc.Name, func(t *testing.T) {
			end := &workerv1.Ended{End: workerv1.End_END_EXITED, Code: tc.Code}
			if tc.Signal != 0 {
				end = &workerv1.Ended{End: workerv1.End_END_SIGNALED, Code: tc.Signal}
			}
			got := lostBy(end, nil)
			if tc.Want == "" {
				require.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			require.Equal(t, tc.Reason(true), got.Reason)
		})
	}
}
