package operated_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
)

// TestProcessesThatStartAgainHaveANewStore: those of PyTorch 2.15 looked for each other at their old ports.
func TestProcessesThatStartAgainHaveANewStore(t *testing.T) {
	const freshStore = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"
	own := &corev1.Container{Env: []corev1.EnvVar{{Name: "A", Value: "b"}}}
	operated.RestartTorch(own)
	require.Equal(t, []corev1.EnvVar{{Name: "A", Value: "b"}, {Name: freshStore, Value: "1"}}, own.Env)

	own.Env[1].Value = "0"
	operated.RestartTorch(own)
	require.Equal(t, "0", own.Env[1].Value, "the task decides")
}
