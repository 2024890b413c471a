package executor_test

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/attemptobject"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// widgets is a plugin of an imaginary operator: an attempt is an object of a kind that clusters do not have by themselves.
// The phase of an attempt is what the status of its object says.
type widgets struct {
	*attemptobject.Keeper[*unstructured.Unstructured]
	kind schema.GroupVersionKind
}

// widgetsOf describes the plugin for one kind, which no other test may use.
func widgetsOf(kind schema.GroupVersionKind) plugin.Definition {
	blank := func() *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		return object
	}
	return plugin.Definition{
		Name: "widget", Install: "the widget operator",
		Informers: []plugin.Informer{{Object: blank()}},
		Rights:    []plugin.Right{{Group: kind.Group, Resource: "widgets", Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}}},
		New: func(deps plugin.Deps) (plugin.Plugin, error) {
			w := &widgets{kind: kind}
			w.Keeper = attemptobject.New(attemptobject.Kind[*unstructured.Unstructured]{
				Name:       "widget",
				ObjectName: func(attempt *plugin.Attempt) string { return v1.PodName(attempt.Task.Name, attempt.Number) },
				Blank:      blank,
				Build: func(_ context.Context, attempt *plugin.Attempt) (*unstructured.Unstructured, error) {
					object := blank()
					object.SetNamespace(attempt.Task.Namespace)
					object.SetName(v1.PodName(attempt.Task.Name, attempt.Number))
					object.SetLabels(attempt.Task.Labels)
					object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(attempt.Task, v1.GroupVersion.WithKind(v1.Kind))})
					return object, nil
				},
				Observe:       w.observe,
				DeleteOptions: func(*plugin.Attempt, *unstructured.Unstructured) []client.DeleteOption { return nil },
			}, deps)
			return w, nil
		},
	}
}

func (w *widgets) Name() string { return "widget" }

func (w *widgets) Watches() []plugin.Watch {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(w.kind)
	return []plugin.Watch{{Object: object}}
}

func (w *widgets) observe(_ context.Context, _ *plugin.Attempt, object *unstructured.Unstructured) (plugin.State, error) {
	state := plugin.State{Phase: common.ActionPhase_ACTION_PHASE_INITIALIZING, Object: object.GetUID()}
	switch phase, _, _ := unstructured.NestedString(object.Object, "status", "phase"); phase {
	case "Running":
		state.Phase = common.ActionPhase_ACTION_PHASE_RUNNING
	case "Succeeded":
		state.Phase = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	case "Failed":
		state.Fail(failure.New(failure.ContainerFailed, "widget %s", object.GetName()))
	}
	return state, nil
}

func asWidget(t *core.TaskTemplate) { t.Config = map[string]string{"plugin": "widget"} }
