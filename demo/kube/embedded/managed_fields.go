package embedded

import (
	"context"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	apioptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// fieldsPlugin is the name under which the API server registers fieldsDropper.
const fieldsPlugin = "FlyteDropManagedFields"

// fieldsDropper creates pods and TaskActions without managed fields, which only server-side apply reads. An object that is created without
// them gets none later, which makes each of its later writes cheaper: docs/decisions/no-managed-fields.md.
type fieldsDropper struct{}

var _ admission.MutationInterface = fieldsDropper{}

// dropManagedFields adds the plugin to those of the API server.
func dropManagedFields(opts *apioptions.ServerRunOptions) {
	generic := opts.Admission.GenericAdmission
	generic.Plugins.Register(fieldsPlugin, func(io.Reader) (admission.Interface, error) { return fieldsDropper{}, nil })
	generic.RecommendedPluginOrder = append(generic.RecommendedPluginOrder, fieldsPlugin)
}

// Handles implements admission.Interface.
func (fieldsDropper) Handles(operation admission.Operation) bool {
	return operation == admission.Create
}

// Admit implements admission.MutationInterface. An object that is applied keeps them: a later apply removes only what it knows that the
// first one has set.
func (fieldsDropper) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	kinds := []schema.GroupResource{corev1.Resource("pods"), v1.Resource.GroupResource()}
	if a.GetSubresource() != "" || !slices.Contains(kinds, a.GetResource().GroupResource()) {
		return nil
	}
	object, err := meta.Accessor(a.GetObject())
	if err != nil {
		return err
	}
	applied := func(of metav1.ManagedFieldsEntry) bool { return of.Operation == metav1.ManagedFieldsOperationApply }
	if !slices.ContainsFunc(object.GetManagedFields(), applied) {
		object.SetManagedFields(nil)
	}
	return nil
}
