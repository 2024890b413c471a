package taskactions

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
)

// cluster writes to the API server.
type cluster struct {
	client       client.Client
	namespaces   *namespaces.Keeper
	installation string // label of our objects; empty where they have none
}

func newCluster(config Config, deps Deps) (*cluster, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("add core kinds: %w", err)
	}
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("add TaskAction: %w", err)
	}
	// A static mapper needs no calls to the API server, which may be unavailable.
	mapper := meta.NewDefaultRESTMapper(scheme.PreferredVersionAllGroups())
	mapper.Add(v1.GroupVersion.WithKind(v1.Kind), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	c, err := client.New(deps.Kubernetes, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	return &cluster{client: c, installation: deps.Installation, namespaces: namespaces.New(
		config.Namespaces(deps.OwnNamespace), c, deps.Clock)}, nil
}

// create creates the object and, if required, the namespace of the place. An object that exists already is not an error
// unless it is being deleted; created tells the two apart.
func (c *cluster) create(ctx context.Context, object *v1.TaskAction, p namespaces.Place) (created bool, err error) {
	if err := c.namespaces.Ensure(ctx, p); err != nil {
		return false, err
	}
	err = c.client.Create(ctx, object.DeepCopy())
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsAlreadyExists(err):
		return false, c.checkExisting(ctx, object)
	case apierrors.IsNotFound(err):
		c.namespaces.Forget(p.Namespace)
		if !c.namespaces.Creates() && isOfNamespace(err) {
			return false, namespaces.NotCreated(p.Namespace)
		}
	}
	return false, err
}

func (c *cluster) checkExisting(ctx context.Context, wanted *v1.TaskAction) error {
	var existing v1.TaskAction
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(wanted), &existing); err != nil {
		return fmt.Errorf("get the existing object: %w", err)
	}
	if owner := existing.Labels[v1.LabelInstallation]; owner != c.installation && owner != "" {
		return fmt.Errorf("object %s/%s belongs to another installation, %s", wanted.Namespace, wanted.Name, owner)
	}
	if existing.Spec.UID != wanted.Spec.UID {
		return fmt.Errorf("object %s/%s belongs to another action, with uid %d", wanted.Namespace, wanted.Name, existing.Spec.UID)
	}
	if !existing.DeletionTimestamp.IsZero() {
		return fmt.Errorf("object %s/%s is still being deleted", wanted.Namespace, wanted.Name)
	}
	if existing.Labels[v1.LabelInstallation] != c.installation {
		return c.adopt(ctx, &existing)
	}
	return nil
}

// isOfNamespace reports whether the namespace was not found, and not the kind of the object.
func isOfNamespace(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind == "namespaces"
}

// remove deletes exactly this object, not another of the same name. One that is gone is not an error.
func (c *cluster) remove(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	target := &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name}}
	err := c.client.Delete(ctx, target, client.Preconditions{UID: &object.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	// A conflict does not prove that another object has the name by now. If one has, the cache shows it before the retry.
	return client.IgnoreNotFound(err)
}
