package v1

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

//go:embed crds/flyte.org_taskactions.yaml
var crdYAML []byte

// digestAnnotation has the digest of the installed definition, so that an equal one is not rewritten.
const digestAnnotation = Group + "/crd-digest"

// CRD is the definition of TaskActions, as the chart installs it.
func CRD() (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(crdYAML, crd); err != nil {
		return nil, fmt.Errorf("read the embedded definition: %w", err)
	}
	sum := sha256.Sum256(crdYAML)
	if crd.Annotations == nil {
		crd.Annotations = map[string]string{}
	}
	crd.Annotations[digestAnnotation] = hex.EncodeToString(sum[:])
	return crd, nil
}

// EnsureCRD installs or updates the definition of TaskActions and waits until the API server serves it. It may run in
// several processes at once.
func EnsureCRD(ctx context.Context, config *rest.Config) error {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("ensure definition of task actions: %w", err)
	}
	wanted, err := CRD()
	if err != nil {
		return err
	}
	crds := client.CustomResourceDefinitions()
	install := func(ctx context.Context) (bool, error) {
		found, err := crds.Get(ctx, wanted.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			found, err = crds.Create(ctx, wanted, metav1.CreateOptions{})
		case err == nil && found.Annotations[digestAnnotation] != wanted.Annotations[digestAnnotation]:
			next := wanted.DeepCopy()
			next.ResourceVersion = found.ResourceVersion
			found, err = crds.Update(ctx, next, metav1.UpdateOptions{})
		}
		if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
			return false, nil // Another process was faster: check again.
		}
		if err != nil {
			return false, err
		}
		return established(found), nil
	}
	if err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, install); err != nil {
		return fmt.Errorf("ensure definition of task actions: %w", err)
	}
	return nil
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
