package podstatus

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/attempttest"
)

// TestEndsAreReadAsEverywhere: a pod and a worker read exit codes and signals alike. A kubelet does not say who sent a signal.
func TestEndsAreReadAsEverywhere(t *testing.T) {
	for _, tc := range attempttest.Ends() {
		t.Run(tc.Name, func(t *testing.T) {
			got := ofContainer("primary", &corev1.ContainerStateTerminated{ExitCode: tc.Code, Signal: tc.Signal, Reason: "Error"})
			if tc.Want == "" {
				require.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			require.Equal(t, tc.Reason(false), got.Reason)
		})
	}
}
