package operated_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/executor/plugins/operated"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// volcano is a complete plugin for an operator, written by docs/plugins.md: Volcano's Jobs, whose pods start together or not at all.
func volcano(pods podspec.Config, own operated.Config) plugin.Definition {
	return operated.Definition(operated.Kind{
		Name: "volcano", Types: []string{"volcano"}, Install: "Volcano",
		Object:   schema.GroupVersionKind{Group: "batch.volcano.sh", Version: "v1alpha1", Kind: "Job"},
		Resource: "jobs", MaxName: 45, // Volcano appends "-worker-" and an index
		Spec: volcanoSpec, Read: readVolcano, Ranked: true,
		Primary: func(pod *corev1.Pod) bool { return pod.Labels["volcano.sh/task-index"] == "0" },
	}, pods, own)
}

func volcanoSpec(ctx context.Context, draft *operated.Draft) (map[string]any, error) {
	wanted := &structpb.Struct{} // in place of a message of the contract
	if err := draft.Custom(wanted); err != nil {
		return nil, err
	}
	workers := int64(wanted.GetFields()["workers"].GetNumberValue())
	if workers < 1 {
		return nil, operated.Bad("workers: want at least 1, got %d", workers)
	}
	pod, err := draft.Pods(ctx, draft.Role("worker", podspec.Different{}), nil)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"schedulerName": "volcano", "minAvailable": workers, "maxRetry": int64(0), // retries belong to the reconciler
		"tasks": []any{map[string]any{"name": "worker", "replicas": workers, "template": pod}},
	}, nil
}

func readVolcano(object *unstructured.Unstructured) operated.Reading {
	reading := operated.Reading{Reason: operated.Text(object, "status", "state", "phase"), Message: operated.Text(object, "status", "state", "message")}
	switch reading.Reason {
	case "Completed":
		return operated.Reading{Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	case "Failed", "Terminated", "Aborted":
		reading.Phase = common.ActionPhase_ACTION_PHASE_FAILED
	default: // the pods say the rest
		return operated.Reading{}
	}
	return reading
}

// TestThePluginOfThePage: what docs/plugins.md says is enough for a plugin that passes the suite.
func TestThePluginOfThePage(t *testing.T) {
	kubetest.Define(t, kubetest.New(t), schema.GroupVersionKind{Group: "batch.volcano.sh", Version: "v1alpha1", Kind: "Job"}, "jobs")
	plugintest.Contract(t, volcano(podspec.DefaultConfig(), operated.DefaultConfig()), task(t, "volcano", 0, `{"workers": 2}`))
}
