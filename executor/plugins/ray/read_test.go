package ray

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
