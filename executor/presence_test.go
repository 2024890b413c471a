package executor_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/executor"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/runs/state"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// setWidget writes the phase of a widget as soon as there is one of the name.
func setWidget(t *testing.T, objects dynamic.ResourceInterface, name, phase string) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err := objects.Patch(context.Background(), name, types.MergePatchType, []byte(`{"status":{"phase":"`+phase+`"}}`), metav1.PatchOptions{})
		return err == nil
	}, waitLimit, 10*time.Millisecond, "widget %s does not exist", name)
}

// TestAPluginWhoseTypeIsMissingStopsNothing: an operator that is not installed, or is removed, costs the tasks that need it
// time, and no others. Without a probe the manager of a shard cannot start while the type of one informer is missing.
func TestAPluginWhoseTypeIsMissingStopsNothing(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "missing.example.org", Version: "v1", Kind: "Widget"}
	h := newHarnessWith(t, []plugin.Definition{widgetsOf(kind)}, kubetest.NodeOptions{Program: succeeds},
		func(c *executor.Config) { c.Plugins.Probe = 20 * time.Millisecond })
	config := executor.DefaultConfig()
	absent := func() []executor.Absence {
		found, err := executor.AbsencesWith(t.Context(), config, h.Config, widgetsOf(kind))
		require.NoError(t, err)
		return found
	}
	missing := absent()
	require.Len(t, missing, 1)
	require.Equal(t, "widget", missing[0].Plugin)
	require.Equal(t, "the widget operator", missing[0].Install)
	plain, _ := h.submit(taskTemplate())
	h.record.awaitPhase(t, plain, 1, state.Succeeded)
	waits, task := h.submit(taskTemplate(asWidget, withoutOutputs))
	h.record.awaitPhase(t, waits, 1, state.WaitingForResources)
	events := h.record.last(waits).GetEvent().GetClusterEvents()
	require.Len(t, events, 1)
	require.Equal(t, "plugin widget cannot run: the cluster has no kind Widget in missing.example.org/v1; install the widget operator", events[0].GetMessage())

	objects := kubetest.Define(t, h.Cluster, kind, "widgets")
	require.Empty(t, absent(), "the operator is installed")
	setWidget(t, objects, v1.PodName(task.Name, 1), "Running")
	h.record.awaitPhase(t, waits, 1, state.Running)
	require.Eventually(t, func() bool {
		current := &v1.TaskAction{}
		return h.Client.Get(context.Background(), clientKey(task), current) == nil && current.Status.ObjectUID != ""
	}, waitLimit, 10*time.Millisecond, "the status never has the object")

	kubetest.Undefine(t, h.Cluster, kind, "widgets")
	h.record.awaitPhase(t, waits, 2, state.WaitingForResources)
	var codes []string
	for _, transition := range h.record.events(waits) {
		if code := transition.GetError().GetCode(); code != "" {
			codes = append(codes, code)
		}
	}
	require.Subset(t, []string{string(failure.OperatorMissing), string(failure.DeletedExternally)}, codes)
	require.Len(t, codes, 1, "one attempt was lost")
	after, _ := h.submit(taskTemplate())
	h.record.awaitPhase(t, after, 1, state.Succeeded)

	objects = kubetest.Define(t, h.Cluster, kind, "widgets")
	setWidget(t, objects, v1.PodName(task.Name, 2), "Succeeded")
	h.record.awaitPhase(t, waits, 2, state.Succeeded)
	h.awaitGone(task)
}

// TestContractOfAnOperatorsPlugin: the suite holds for types without Go structs, too.
func TestContractOfAnOperatorsPlugin(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "contract.example.org", Version: "v1", Kind: "Widget"}
	kubetest.Define(t, kubetest.New(t), kind, "widgets")
	plugintest.Contract(t, widgetsOf(kind), plugintest.ContainerTask())
}
