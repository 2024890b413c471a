package kubetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// Define adds a namespaced kind without a schema to the API server and returns its objects in the test's namespace. When the
// test ends, it is removed: other tests need a cluster without it. plural is the name of its resource.
func Define(t testing.TB, cluster *Cluster, kind schema.GroupVersionKind, plural string) dynamic.ResourceInterface {
	t.Helper()
	extensions, err := apiextensions.NewForConfig(cluster.Config)
	require.NoError(t, err)
	objects, err := dynamic.NewForConfig(cluster.Config)
	require.NoError(t, err)
	definitions, name := extensions.CustomResourceDefinitions(), plural+"."+kind.Group
	resource := objects.Resource(kind.GroupVersion().WithResource(plural)).Namespace(cluster.Namespace)
	_, err = definitions.Create(t.Context(), &apiextensionsv1.CustomResourceDefinition{
		// Groups below k8s.io are protected: their definitions say who has approved them.
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind.Kind, ListKind: kind.Kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		remove(t, definitions, name, resource)
	})
	poll(t, name+" is not known", func(ctx context.Context) bool {
		_, err := resource.List(ctx, metav1.ListOptions{})
		return err == nil
	})
	return resource
}

// Undefine removes a kind before the end of the test, and with it its objects.
func Undefine(t testing.TB, cluster *Cluster, kind schema.GroupVersionKind, plural string) {
	t.Helper()
	extensions, err := apiextensions.NewForConfig(cluster.Config)
	require.NoError(t, err)
	objects, err := dynamic.NewForConfig(cluster.Config)
	require.NoError(t, err)
	remove(t, extensions.CustomResourceDefinitions(), plural+"."+kind.Group, objects.Resource(kind.GroupVersion().WithResource(plural)).Namespace(cluster.Namespace))
}

func remove(t testing.TB, definitions apiextensions.CustomResourceDefinitionInterface, name string, resource dynamic.ResourceInterface) {
	t.Helper()
	if err := definitions.Delete(context.Background(), name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		require.NoError(t, err)
	}
	poll(t, name+" is still known", func(ctx context.Context) bool {
		_, defined := definitions.Get(ctx, name, metav1.GetOptions{})
		_, served := resource.List(ctx, metav1.ListOptions{})
		return apierrors.IsNotFound(defined) && apierrors.IsNotFound(served)
	})
}

func poll(t testing.TB, otherwise string, holds func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(context.Background(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		return holds(ctx), nil
	})
	require.NoError(t, err, otherwise)
}
