package operators

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// definePoll is how often it is checked whether the API server serves a new kind.
const definePoll = 50 * time.Millisecond

// define makes the API server serve a kind. It has no schema: the executor's tests create its objects with the operator's own
// definition. One that exists stays, since an operator may have brought it.
func define(ctx context.Context, config *rest.Config, one operator) error {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("define %s: %w", one.object.Kind, err)
	}
	wanted := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: one.plural + "." + one.object.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: one.object.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: one.plural, Kind: one.object.Kind, ListKind: one.object.Kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: one.object.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
	definitions := client.CustomResourceDefinitions()
	err = wait.PollUntilContextCancel(ctx, definePoll, true, func(ctx context.Context) (bool, error) {
		found, err := definitions.Get(ctx, wanted.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			found, err = definitions.Create(ctx, wanted, metav1.CreateOptions{})
		}
		if apierrors.IsAlreadyExists(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for _, condition := range found.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("define %s: %w", one.object.Kind, err)
	}
	return nil
}
