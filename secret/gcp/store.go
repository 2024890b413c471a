// Package gcp stores secrets in Google Cloud Secret Manager. Names there have few characters, so a secret's is a digest;
// its labels and annotations say what it is. It builds on secret/entry.
package gcp

import (
	"context"
	"fmt"
	"regexp"

	secretmanager "cloud.google.com/go/secretmanager/apiv1"
	"cloud.google.com/go/secretmanager/apiv1/secretmanagerpb"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// Config is the section secrets.gcp. Credentials are the application default ones.
type Config struct {
	// Project is the Google Cloud project that has the secrets. Required for this backend.
	Project string `config:"project"`
	// Prefix is what the names of all secrets begin with: letters, digits, dashes and underscores. Defaults to flyte.
	Prefix string `config:"prefix"`
}

// DefaultConfig names no project.
func DefaultConfig() Config { return Config{Prefix: "flyte"} }

var prefixes = regexp.MustCompile(`^[-_a-zA-Z0-9]{1,100}$`)

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Project == "", "project: required for the backend gcp")
	found.If(!prefixes.MatchString(c.Prefix), "prefix: must have letters, digits, dashes and underscores, got %q", c.Prefix)
	return found.Err()
}

const (
	// limit is the largest value that Google stores.
	limit          = 64 << 10
	labelManaged   = "flyte-secret"
	labelDomain    = "flyte-domain"  // a digest: labels have fewer characters than domains
	labelProject   = "flyte-project" // the same, for the project
	annotationPath = "flyte-path"
	annotationType = "flyte-type"
)

// Store is the backend. It is safe for concurrent use.
type Store struct {
	config Config
	client *secretmanager.Client
}

// New returns the backend. Options are for tests.
func New(ctx context.Context, config Config, options ...option.ClientOption) (*Store, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	client, err := secretmanager.NewClient(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("client of Google Cloud: %w", err)
	}
	return &Store{config: config, client: client}, nil
}

// Close ends the connections.
func (s *Store) Close() error { return s.client.Close() }

func (s *Store) parent() string { return "projects/" + s.config.Project }

func (s *Store) id(id entry.ID) string { return s.config.Prefix + "-" + id.Digest() }

func (s *Store) name(id entry.ID) string { return s.parent() + "/secrets/" + s.id(id) }

func labelsOf(scope entry.Scope) map[string]string {
	labels := map[string]string{labelManaged: "true"}
	for label, place := range map[string]string{labelDomain: scope.Domain, labelProject: scope.Project} {
		if place != "" {
			labels[label] = entry.ID{Name: place}.Digest()
		}
	}
	return labels
}

// Create stores a new secret. Google has two steps: a secret without a version does not exist for us, and a Create that
// finds one completes it.
func (s *Store) Create(ctx context.Context, id entry.ID, content entry.Content) error {
	if content.Value.Len() > limit {
		return entry.TooLargeError{Limit: limit}
	}
	_, err := s.client.CreateSecret(ctx, &secretmanagerpb.CreateSecretRequest{
		Parent: s.parent(), SecretId: s.id(id),
		Secret: &secretmanagerpb.Secret{
			Replication: &secretmanagerpb.Replication{Replication: &secretmanagerpb.Replication_Automatic_{Automatic: &secretmanagerpb.Replication_Automatic{}}},
			Labels:      labelsOf(id.Scope),
			Annotations: map[string]string{annotationPath: id.Path(), annotationType: content.Type.String()},
		},
	})
	if status.Code(err) == codes.AlreadyExists {
		if has, err := s.hasVersion(ctx, id); err != nil || has {
			return or(err, entry.ErrExists)
		}
	} else if err != nil {
		return explain(err)
	}
	return s.addVersion(ctx, id, content.Value)
}

func or(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

func (s *Store) addVersion(ctx context.Context, id entry.ID, value entry.Value) error {
	_, err := s.client.AddSecretVersion(ctx, &secretmanagerpb.AddSecretVersionRequest{
		Parent: s.name(id), Payload: &secretmanagerpb.SecretPayload{Data: value.Reveal()},
	})
	return explain(err)
}

func (s *Store) hasVersion(ctx context.Context, id entry.ID) (bool, error) {
	_, err := s.client.GetSecretVersion(ctx, &secretmanagerpb.GetSecretVersionRequest{Name: s.name(id) + "/versions/latest"})
	if status.Code(err) == codes.NotFound {
		return false, nil
	}
	return err == nil, explain(err)
}

// Update adds a version. Earlier ones stay, until Google's own rules or an operator destroy them.
func (s *Store) Update(ctx context.Context, id entry.ID, content entry.Content) error {
	if content.Value.Len() > limit {
		return entry.TooLargeError{Limit: limit}
	}
	return s.addVersion(ctx, id, content.Value)
}

// Describe returns what is known of a secret.
func (s *Store) Describe(ctx context.Context, id entry.ID) (entry.Metadata, error) {
	found, err := s.client.GetSecret(ctx, &secretmanagerpb.GetSecretRequest{Name: s.name(id)})
	if err != nil {
		return entry.Metadata{}, explain(err)
	}
	if has, err := s.hasVersion(ctx, id); err != nil || !has {
		return entry.Metadata{}, or(err, entry.ErrNotFound)
	}
	return describe(id, found), nil
}

func describe(id entry.ID, found *secretmanagerpb.Secret) entry.Metadata {
	return entry.Metadata{ID: id, Type: entry.ParseType(found.GetAnnotations()[annotationType]), Created: found.GetCreateTime().AsTime()}
}

// Delete deletes a secret with all versions.
func (s *Store) Delete(ctx context.Context, id entry.ID) error {
	return explain(s.client.DeleteSecret(ctx, &secretmanagerpb.DeleteSecretRequest{Name: s.name(id)}))
}

// List returns the secrets of a scope and below.
func (s *Store) List(ctx context.Context, scope entry.Scope, token string, most int) (entry.Page, error) {
	filter := "labels." + labelManaged + "=true"
	for _, label := range []string{labelDomain, labelProject} {
		if value := labelsOf(scope)[label]; value != "" {
			filter += " AND labels." + label + "=" + value
		}
	}
	var found []*secretmanagerpb.Secret
	pager := iterator.NewPager(s.client.ListSecrets(ctx, &secretmanagerpb.ListSecretsRequest{Parent: s.parent(), Filter: filter}), most, token)
	next, err := pager.NextPage(&found)
	if status.Code(err) == codes.InvalidArgument && token != "" {
		return entry.Page{}, entry.ErrBadToken
	}
	if err != nil {
		return entry.Page{}, explain(err)
	}
	page := entry.Page{Next: next}
	for _, one := range found {
		if id, ok := entry.ParsePath(one.GetAnnotations()[annotationPath]); ok && scope.Contains(id.Scope) {
			page.Entries = append(page.Entries, describe(id, one))
		}
	}
	return page, nil
}

// Value returns a secret with its value.
func (s *Store) Value(ctx context.Context, id entry.ID) (entry.Content, error) {
	found, err := s.client.GetSecret(ctx, &secretmanagerpb.GetSecretRequest{Name: s.name(id)})
	if err != nil {
		return entry.Content{}, explain(err)
	}
	answer, err := s.client.AccessSecretVersion(ctx, &secretmanagerpb.AccessSecretVersionRequest{Name: s.name(id) + "/versions/latest"})
	if err != nil {
		return entry.Content{}, explain(err)
	}
	return entry.Content{Type: describe(id, found).Type, Value: entry.NewValue(answer.GetPayload().GetData())}, nil
}

func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case status.Code(err) == codes.NotFound:
		return entry.ErrNotFound
	}
	return &entry.UnavailableError{Words: "Google Cloud Secret Manager does not answer, or refuses", Err: err}
}
