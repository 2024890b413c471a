package kubetest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
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

// Install adds the kinds of an operator to the API server, with their whole schema: crd is the name of a file in the
// directory crds next to the API server's program, where tools/operators/crds.sh puts them. When the test ends, they are
// removed.
func Install(t testing.TB, cluster *Cluster, crd string) {
	t.Helper()
	_, apiserver, err := binaries()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(apiserver), "crds", crd))
	require.NoError(t, err, "run make cluster-tools")
	definition := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.Unmarshal(text, definition))
	extensions, err := apiextensions.NewForConfig(cluster.Config)
	require.NoError(t, err)
	objects, err := dynamic.NewForConfig(cluster.Config)
	require.NoError(t, err)
	definitions := extensions.CustomResourceDefinitions()
	// Groups below k8s.io are protected: their definitions say who has approved them.
	if definition.Annotations == nil {
		definition.Annotations = map[string]string{}
	}
	definition.Annotations["api-approved.kubernetes.io"] = "unapproved, for a test"
	_, err = definitions.Create(t.Context(), definition, metav1.CreateOptions{})
	require.NoError(t, err)
	known, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	require.NoError(t, err)
	var resource dynamic.ResourceInterface
	var served schema.GroupVersion
	for _, version := range definition.Spec.Versions {
		if version.Served {
			served = schema.GroupVersion{Group: definition.Spec.Group, Version: version.Name}
			resource = objects.Resource(served.WithResource(definition.Spec.Names.Plural)).Namespace(cluster.Namespace)
		}
	}
	t.Cleanup(func() {
		remove(t, definitions, definition.Name, resource)
	})
	poll(t, definition.Name+" is not known", func(ctx context.Context) bool {
		if _, err := resource.List(ctx, metav1.ListOptions{}); err != nil {
			return false
		}
		// The list of kinds is updated later than the kind is served.
		found, err := known.ServerResourcesForGroupVersion(served.String())
		return err == nil && slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Name == definition.Spec.Names.Plural })
	})
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
