// Package kubernetes stores secrets of SecretService as Secrets of one namespace, which is not that of tasks. The name of
// a Secret is a digest of what identifies it, so that there is at most one, and its labels and annotations say what it is.
// It builds on secret/entry.
package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// Config is the section secrets.kubernetes.
type Config struct {
	// Namespace has the Secrets. Tasks must not run in it. Defaults to that of the server's own pod, and to flyte outside
	// of a cluster. It is created if it does not exist.
	Namespace string `config:"namespace"`
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	if problems := validation.IsDNS1123Label(c.Namespace); c.Namespace != "" && len(problems) > 0 {
		found.Add("namespace: %q is not a valid namespace name", c.Namespace)
	}
	return found.Err()
}

const (
	labelManaged      = "secrets.flyte.org/managed"
	labelInstallation = "secrets.flyte.org/installation"
	labelDomain       = "secrets.flyte.org/domain"
	labelProject      = "secrets.flyte.org/project"
	annotationPath    = "secrets.flyte.org/path"
	annotationType    = "secrets.flyte.org/type"

	// valueKey is the entry of a Secret that has the value.
	valueKey = "value"
)

// Store is the backend. It is safe for concurrent use.
type Store struct {
	namespace, installation string
	clientset               kubernetes.Interface
	names                   metadata.Interface // reads without values
}

// New returns the backend. It makes no call. The installation keeps those of other installations in the same namespace
// apart.
func New(config Config, cluster *rest.Config, installation string) (*Store, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	clientset, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return nil, fmt.Errorf("client of the cluster: %w", err)
	}
	names, err := metadata.NewForConfig(cluster)
	if err != nil {
		return nil, fmt.Errorf("client of the cluster: %w", err)
	}
	return &Store{namespace: config.Namespace, installation: installation, clientset: clientset, names: names}, nil
}

// name is that of a Secret. It contains the installation, so that several can share a namespace.
func (s *Store) name(id entry.ID) string {
	if s.installation == "" {
		return "flyte-secret-" + id.Digest()
	}
	return "flyte-secret-" + s.installation + "-" + id.Digest()
}

// Create stores a new secret.
func (s *Store) Create(ctx context.Context, id entry.ID, content entry.Content) error {
	object := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.name(id), Namespace: s.namespace,
			Labels:      map[string]string{labelManaged: strconv.FormatBool(true)},
			Annotations: map[string]string{annotationPath: id.Path(), annotationType: content.Type.String()},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{valueKey: content.Value.Reveal()},
	}
	for label, value := range map[string]string{labelInstallation: s.installation, labelDomain: id.Domain, labelProject: id.Project} {
		if value != "" {
			object.Labels[label] = labelValue(value)
		}
	}
	create := func() error {
		_, err := s.clientset.CoreV1().Secrets(s.namespace).Create(ctx, object, metav1.CreateOptions{})
		return err
	}
	err := create()
	if apierrors.IsNotFound(err) {
		if err := s.createNamespace(ctx); err != nil {
			return err
		}
		err = create()
	}
	if apierrors.IsAlreadyExists(err) {
		return entry.ErrExists
	}
	return explain(err)
}

func (s *Store) createNamespace(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	_, err := s.clientset.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return explain(err)
}

// Update replaces the value of a secret.
func (s *Store) Update(ctx context.Context, id entry.ID, content entry.Content) error {
	patch, err := json.Marshal(map[string]any{"data": map[string][]byte{valueKey: content.Value.Reveal()}})
	if err != nil {
		return err
	}
	_, err = s.clientset.CoreV1().Secrets(s.namespace).Patch(ctx, s.name(id), types.MergePatchType, patch, metav1.PatchOptions{})
	return found(err)
}

// Describe returns what is known of a secret.
func (s *Store) Describe(ctx context.Context, id entry.ID) (entry.Metadata, error) {
	object, err := s.names.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(s.namespace).Get(ctx, s.name(id), metav1.GetOptions{})
	if err != nil {
		return entry.Metadata{}, found(err)
	}
	return describe(id, object.ObjectMeta), nil
}

func describe(id entry.ID, object metav1.ObjectMeta) entry.Metadata {
	return entry.Metadata{ID: id, Type: entry.ParseType(object.Annotations[annotationType]), Created: object.CreationTimestamp.Time}
}

// Delete deletes a secret.
func (s *Store) Delete(ctx context.Context, id entry.ID) error {
	return found(s.clientset.CoreV1().Secrets(s.namespace).Delete(ctx, s.name(id), metav1.DeleteOptions{}))
}

// List returns the secrets of a scope and below.
func (s *Store) List(ctx context.Context, scope entry.Scope, token string, limit int) (entry.Page, error) {
	wanted := labels.Set{labelManaged: strconv.FormatBool(true)}
	for label, value := range map[string]string{labelInstallation: s.installation, labelDomain: scope.Domain, labelProject: scope.Project} {
		if value != "" {
			wanted[label] = labelValue(value)
		}
	}
	list, err := s.names.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(s.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labels.SelectorFromSet(wanted).String(), Limit: int64(limit), Continue: token,
	})
	switch {
	case apierrors.IsResourceExpired(err), token != "" && apierrors.IsBadRequest(err):
		return entry.Page{}, entry.ErrBadToken
	case err != nil:
		return entry.Page{}, explain(err)
	}
	page := entry.Page{Next: list.Continue}
	for i := range list.Items {
		// Labels are no longer than 63 characters and end with a letter or digit; the path is what counts.
		if id, ok := entry.ParsePath(list.Items[i].Annotations[annotationPath]); ok && scope.Contains(id.Scope) {
			page.Entries = append(page.Entries, describe(id, list.Items[i].ObjectMeta))
		}
	}
	return page, nil
}

// Value returns a secret with its value.
func (s *Store) Value(ctx context.Context, id entry.ID) (entry.Content, error) {
	object, err := s.clientset.CoreV1().Secrets(s.namespace).Get(ctx, s.name(id), metav1.GetOptions{})
	if err != nil {
		return entry.Content{}, found(err)
	}
	value, ok := object.Data[valueKey]
	if !ok {
		return entry.Content{}, fmt.Errorf("the Secret %s/%s has no entry %q", s.namespace, object.Name, valueKey)
	}
	return entry.Content{Type: entry.ParseType(object.Annotations[annotationType]), Value: entry.NewValue(value)}, nil
}

// labelValue is a project or domain as the value of a label, which ends with a letter or digit.
func labelValue(place string) string {
	if len(validation.IsValidLabelValue(place)) == 0 {
		return place
	}
	return entry.ID{Name: place}.Digest()
}

func found(err error) error {
	if apierrors.IsNotFound(err) {
		return entry.ErrNotFound
	}
	return explain(err)
}

// explain turns an error of the API server into one of a backend.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return &entry.UnavailableError{Words: "the server has no right to the Secrets of its namespace, or the quota is used up", Err: err}
	case apierrors.IsConflict(err):
		return entry.ErrConflict
	case apierrors.IsRequestEntityTooLargeError(err):
		return entry.TooLargeError{Limit: corev1.MaxSecretSize}
	}
	return err
}
