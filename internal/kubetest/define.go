package kubetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// Define adds a namespaced kind without a schema of its own to the API server, until the end of the test, and waits until it
// is served. plural is the name of its resource.
func Define(t testing.TB, cluster *Cluster, kind schema.GroupVersionKind, plural string) {
	t.Helper()
	definitions, err := apiextensions.NewForConfig(cluster.Config)
	require.NoError(t, err)
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name: plural + "." + kind.Group,
			// Kinds below k8s.io need the link to their review.
			Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, only for tests"},
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind.Kind, ListKind: kind.Kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: ptr.To(true),
				}},
			}},
		},
	}
	_, err = definitions.CustomResourceDefinitions().Create(t.Context(), definition, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, definitions.CustomResourceDefinitions().Delete(context.Background(), definition.Name, metav1.DeleteOptions{}))
	})
	require.Eventually(t, func() bool {
		found, err := definitions.CustomResourceDefinitions().Get(t.Context(), definition.Name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true
			}
		}
		return false
	}, time.Minute, 10*time.Millisecond)
}
