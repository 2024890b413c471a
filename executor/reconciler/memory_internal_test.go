package reconciler

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// TestAnAttemptIsKnownUntilItIsStopped: after its TaskAction was deleted, too, while an operator may give it pods.
func TestAnAttemptIsKnownUntilItIsStopped(t *testing.T) {
	m := memory{entries: map[types.NamespacedName]*entry{}, adopted: map[types.UID]struct{}{}, stopping: map[*entry]struct{}{}}
	key := types.NamespacedName{Namespace: "n", Name: "a0"}
	task := &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{UID: "one", Labels: map[string]string{v1.LabelUID: "7"}}}
	one := m.load(key, task)
	require.True(t, m.has("7"))
	require.False(t, m.has("8"))
	require.Same(t, one, m.remove(key))
	require.True(t, m.has("7"), "it is being stopped")
	m.restore(key, one) // it could not be stopped
	require.True(t, m.has("7"))
	require.Same(t, one, m.remove(key))
	require.Nil(t, m.remove(key))
	m.stopped(one)
	require.False(t, m.has("7"))

	m.restore(key, one)
	require.Same(t, one, m.remove(key))
	m.load(key, &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{UID: "two", Labels: map[string]string{v1.LabelUID: "9"}}})
	m.restore(key, one)
	require.False(t, m.has("7"), "another TaskAction has the name")
}
