package operated

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestCachedObjectsKeepWhatSuspendsThem: plugins read it from the cache, where the rest of the specification is left out.
func TestCachedObjectsKeepWhatSuspendsThem(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "j", "annotations": map[string]any{"large": "x"}},
		"spec": map[string]any{
			"suspend": true, "runPolicy": map[string]any{"suspend": true}, "template": map[string]any{"large": "x"},
		},
		"status": map[string]any{"phase": "p"},
	}}
	kept, err := strip(object)
	require.NoError(t, err)
	stripped, ok := kept.(*unstructured.Unstructured)
	require.True(t, ok)
	require.True(t, Suspended(stripped, "suspend"))
	require.True(t, Suspended(stripped, "runPolicy", "suspend"))
	require.Equal(t, "p", Text(stripped, "status", "phase"))
	require.NotContains(t, stripped.Object["spec"], "template")
	require.Empty(t, stripped.GetAnnotations())
}
