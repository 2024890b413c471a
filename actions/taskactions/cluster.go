package taskactions

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// cluster writes to the API server.
type cluster struct {
	client client.Client
	// createNamespaces allows creating namespaces that do not exist.
	createNamespaces bool
	installation     string // label of our objects; empty where they have none

	mu         sync.Mutex
	namespaces map[string]bool // GUARDED_BY(mu): known to exist
}

func newCluster(config *rest.Config, installation string, createNamespaces bool) (*cluster, error) {
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
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	return &cluster{client: c, installation: installation, createNamespaces: createNamespaces, namespaces: map[string]bool{}}, nil
}

// namespaceError is that a namespace does not exist and is not created.
type namespaceError struct {
	name string
	err  error
}

func (e *namespaceError) Error() string {
	return fmt.Sprintf("namespace %s does not exist, and it is not created: %v", e.name, e.err)
}

func (e *namespaceError) Unwrap() error { return e.err }

// create creates the object and, if required, its namespace with these labels. An object that exists already is no error
// unless it is being deleted; created tells the two apart.
func (c *cluster) create(ctx context.Context, object *v1.TaskAction, labels map[string]string) (created bool, err error) {
	if err := c.ensureNamespace(ctx, object.Namespace, labels); err != nil {
		return false, err
	}
	err = c.client.Create(ctx, object.DeepCopy())
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsAlreadyExists(err):
		return false, c.checkExisting(ctx, object)
	case apierrors.IsNotFound(err):
		c.forgetNamespace(object.Namespace)
		if !c.createNamespaces && isOfNamespace(err) {
			return false, &namespaceError{object.Namespace, errors.New("actions.taskActions.createNamespaces is off")}
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

func (c *cluster) ensureNamespace(ctx context.Context, name string, labels map[string]string) error {
	c.mu.Lock()
	known := c.namespaces[name]
	c.mu.Unlock()
	if known || !c.createNamespaces {
		return nil // Creating the object will report the error.
	}
	err := c.client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
	switch {
	case apierrors.IsForbidden(err):
		err = nil // Without the right to read namespaces, work in them may still be allowed.
	case apierrors.IsNotFound(err):
		err = c.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
		if apierrors.IsForbidden(err) {
			return &namespaceError{name, err}
		}
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("ensure namespace %s: %w", name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.namespaces[name] = true
	return nil
}

func (c *cluster) forgetNamespace(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.namespaces, name)
}

// remove deletes exactly this object, not another of the same name. One that is gone is no error.
func (c *cluster) remove(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	target := &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name}}
	err := c.client.Delete(ctx, target, client.Preconditions{UID: &object.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	// A conflict is no proof that another object has the name by now. If one has, the cache shows it before the retry.
	return client.IgnoreNotFound(err)
}
