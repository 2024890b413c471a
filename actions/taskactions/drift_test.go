package taskactions_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/kube/drift/drifttest"
)

func (f *fixture) metered() *metric.ManualReader {
	reader := metric.NewManualReader()
	f.meter = metric.NewMeterProvider(metric.WithReader(reader))
	return reader
}

func (f *fixture) make(a *enginev1.Assignment, installation string) *v1.TaskAction {
	f.t.Helper()
	object := taskactions.FromAssignment(a, f.cluster.Namespace)
	if installation != "" {
		object.Labels[v1.LabelInstallation] = installation
	}
	require.NoError(f.t, f.cluster.Client.Create(context.Background(), object))
	return object
}

func (f *fixture) eventuallyRepaired(reader *metric.ManualReader, want map[string]int64) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		got := drifttest.Counts(f.t, reader)
		for kind, n := range want {
			if got[kind] != n {
				return false
			}
		}
		return len(got) == len(want)
	}, 20*time.Second, 10*time.Millisecond, "want %v", want)
}

// TestEveryDriftIsRepaired creates one of each kind, between the database and TaskActions.
//
// Story R1: a run that no page showed was reconciled for 17 days, and its pod was recreated each time someone
// deleted it.
func TestEveryDriftIsRepaired(t *testing.T) {
	f := newFixture(t)
	reader := f.metered()
	f.installation = "ours"
	f.engine.phases = map[string]common.ActionPhase{"finished": common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	f.make(assignment(2, "finished"), "ours")
	f.make(assignment(3, "unknown"), "ours")
	f.engine.assign(assignment(1, "missing"), false)
	f.start()
	f.eventually("missing")
	f.eventuallyRepaired(reader, map[string]int64{"task_action_missing": 1, "task_action_finished": 1, "task_action_unknown": 1})

	deleted := taskactions.FromAssignment(assignment(1, "missing"), f.cluster.Namespace)
	require.NoError(t, f.cluster.Client.Delete(t.Context(), deleted))
	f.eventuallyRepaired(reader, map[string]int64{
		"task_action_missing": 1, "task_action_finished": 1, "task_action_unknown": 1, "task_action_deleted": 1,
	})
	f.eventually("missing")
}

// TestOrdinaryEndsAreNoDrift releases actions in the usual way.
func TestOrdinaryEndsAreNoDrift(t *testing.T) {
	f := newFixture(t)
	reader := f.metered()
	f.engine.phases = map[string]common.ActionPhase{"aborted": common.ActionPhase_ACTION_PHASE_ABORTED}
	f.start()
	require.Eventually(t, func() bool { return f.engine.subscriptions() > 0 }, 20*time.Second, time.Millisecond)
	a := assignment(1, "aborted")
	f.engine.assign(a, true)
	f.eventually("aborted")
	f.engine.release(a, true)
	f.eventually("")
	require.Empty(t, drifttest.Counts(t, reader))
}

// TestInstallationsShareANamespace runs owners of two databases with equal action ids.
func TestInstallationsShareANamespace(t *testing.T) {
	ours := newFixture(t)
	ours.installation = "ours"
	ours.config.Resync = 50 * time.Millisecond
	theirs := &fixture{t: t, cluster: ours.cluster, engine: newEngine(), events: &events{}, executor: &executor{}, config: ours.config, kube: ours.kube, installation: "theirs"}
	ours.engine.assign(assignment(1, "a"), false)
	theirs.engine.assign(assignment(1, "b"), false)
	ours.start()
	theirs.start()
	both := func() bool {
		names := strings.Fields(ours.actions(ours.cluster.Namespace))
		slices.Sort(names)
		return slices.Equal(names, []string{"a", "b"})
	}
	require.Eventually(t, both, 20*time.Second, 5*time.Millisecond)
	require.Never(t, func() bool { return !both() }, 300*time.Millisecond, 20*time.Millisecond)
	ours.engine.release(assignment(1, "a"), true)
	ours.eventually("b")
	require.Never(t, func() bool { return ours.actions(ours.cluster.Namespace) != "b" }, 200*time.Millisecond, 20*time.Millisecond)
}

// TestUnmarkedObjectsAreAdoptedWhenTheyAreOurs is the upgrade from a version that marked no objects.
func TestUnmarkedObjectsAreAdoptedWhenTheyAreOurs(t *testing.T) {
	f := newFixture(t)
	reader := f.metered()
	f.installation = "ours"
	f.engine.phases = map[string]common.ActionPhase{
		"live": common.ActionPhase_ACTION_PHASE_RUNNING, "finished": common.ActionPhase_ACTION_PHASE_ABORTED,
	}
	f.engine.assign(assignment(1, "live"), false)
	live := f.make(assignment(1, "live"), "")
	f.make(assignment(2, "finished"), "")
	f.make(assignment(3, "stranger"), "")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.cluster.Namespace, Name: v1.PodName(live.Name, 1), Labels: live.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(live, v1.GroupVersion.WithKind(v1.Kind))},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	require.NoError(t, f.cluster.Client.Create(t.Context(), pod))
	f.start()
	f.eventually("live stranger")
	require.Eventually(t, func() bool {
		require.NoError(t, f.cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(live), live))
		require.NoError(t, f.cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
		return live.Labels[v1.LabelInstallation] == "ours" && pod.Labels[v1.LabelInstallation] == "ours"
	}, 20*time.Second, 10*time.Millisecond)
	// An object is counted after it is marked, so its mark may be seen first.
	require.Eventually(t, func() bool { return drifttest.Counts(t, reader)["task_action_unmarked"] == 2 }, 20*time.Second, 10*time.Millisecond)
	require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "live stranger" }, 200*time.Millisecond, 20*time.Millisecond)
}
