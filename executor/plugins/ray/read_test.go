package ray

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAProgramWhoseEndKubeRayMissed: it asks too late whether the program has ended, gives it up, and its outputs may be there.
func TestAProgramWhoseEndKubeRayMissed(t *testing.T) {
	for reason, unseen := range map[string]bool{"JobDeploymentStatusTransitionGracePeriodExceeded": true, "AppFailed": false} {
		reading := read(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"jobDeploymentStatus": "Failed", "reason": reason, "jobStatus": "RUNNING",
		}}})
		require.Equal(t, unseen, reading.Unseen, reason)
	}
}

// TestAProgramThatWasNeverSubmitted: KubeRay knows no status of the program then. It gives the same reason when the pod that submits
// loses a program that runs.
func TestAProgramThatWasNeverSubmitted(t *testing.T) {
	for job, notStarted := range map[string]bool{"": true, "RUNNING": false} {
		reading := read(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
			"jobDeploymentStatus": "Failed", "reason": "SubmissionFailed", "jobStatus": job,
		}}})
		require.Equal(t, notStarted, reading.NotStarted, job)
		require.False(t, reading.Program)
	}
}
