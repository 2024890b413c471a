// Package azure stores secrets in Azure Key Vault. Names there have few characters, so a secret's is a digest; its tags
// say what it is. It builds on secret/entry.
package azure

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azsecrets"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// Config is the section secrets.azure. Credentials are those of Azure's default chain.
type Config struct {
	// URL of the vault, such as https://name.vault.azure.net. Required for this backend.
	URL string `config:"url"`
	// Prefix is what the names of all secrets begin with: letters, digits and dashes. Defaults to flyte.
	Prefix string `config:"prefix"`
}

// DefaultConfig names no vault.
func DefaultConfig() Config { return Config{Prefix: "flyte"} }

var prefixes = regexp.MustCompile(`^[-a-zA-Z0-9]{1,80}$`)

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	if parsed, err := url.Parse(c.URL); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		found.Add("url: want https://name.vault.azure.net, got %q", c.URL)
	}
	found.If(!prefixes.MatchString(c.Prefix), "prefix: must have letters, digits and dashes, got %q", c.Prefix)
	return found.Err()
}

const (
	// limit is the largest text that Azure stores.
	limit       = 25_000
	tagPath     = "flyte-path"
	tagPathRest = "flyte-path-rest" // a tag has 256 characters at most, a path more
	tagType     = "flyte-type"
	tagEncoding = "flyte-encoding"
	base64Tag   = "base64"
	tagSize     = 256
)

// Store is the backend. It is safe for concurrent use.
type Store struct {
	config Config
	client *azsecrets.Client
}

// New returns the backend with the credentials of Azure's default chain.
func New(config Config) (*Store, error) {
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, fmt.Errorf("credentials of Azure: %w", err)
	}
	return NewWith(config, credential, nil)
}

// NewWith returns the backend with other credentials and options.
func NewWith(config Config, credential azcore.TokenCredential, options *azsecrets.ClientOptions) (*Store, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	client, err := azsecrets.NewClient(config.URL, credential, options)
	if err != nil {
		return nil, fmt.Errorf("client of Azure: %w", err)
	}
	return &Store{config: config, client: client}, nil
}

func (s *Store) name(id entry.ID) string { return s.config.Prefix + "-" + id.Digest() }

// Create stores a new secret. Azure cannot refuse to replace one, so the second of two that run at the same time wins.
func (s *Store) Create(ctx context.Context, id entry.ID, content entry.Content) error {
	switch _, err := s.Describe(ctx, id); {
	case err == nil:
		return entry.ErrExists
	case !errors.Is(err, entry.ErrNotFound):
		return err
	}
	return s.set(ctx, id, content)
}

// Update replaces the value of a secret.
func (s *Store) Update(ctx context.Context, id entry.ID, content entry.Content) error {
	if _, err := s.Describe(ctx, id); err != nil {
		return err
	}
	return s.set(ctx, id, content)
}

func (s *Store) set(ctx context.Context, id entry.ID, content entry.Content) error {
	value := string(content.Value.Reveal())
	tags := map[string]*string{tagType: to(content.Type.String())}
	path := id.Path()
	tags[tagPath] = to(path[:min(len(path), tagSize)])
	if len(path) > tagSize {
		tags[tagPathRest] = to(path[tagSize:])
	}
	if !utf8.ValidString(value) {
		value = base64.StdEncoding.EncodeToString(content.Value.Reveal())
		tags[tagEncoding] = to(base64Tag)
	}
	if len(value) > limit {
		return entry.TooLargeError{Limit: limit}
	}
	_, err := s.client.SetSecret(ctx, s.name(id), azsecrets.SetSecretParameters{Value: &value, Tags: tags}, nil)
	if isStatus(err, http.StatusConflict) {
		return &entry.UnavailableError{Words: "Azure Key Vault is still deleting a secret of this name; purge it, or wait until it is gone", Err: err}
	}
	return explain(err)
}

// Describe returns what is known of a secret. Azure returns it together with its value.
func (s *Store) Describe(ctx context.Context, id entry.ID) (entry.Metadata, error) {
	answer, err := s.client.GetSecret(ctx, s.name(id), "", nil)
	if err != nil {
		return entry.Metadata{}, explain(err)
	}
	return describe(id, answer.Tags, answer.Attributes), nil
}

func describe(id entry.ID, tags map[string]*string, attributes *azsecrets.SecretAttributes) entry.Metadata {
	about := entry.Metadata{ID: id, Type: entry.ParseType(from(tags[tagType]))}
	if attributes != nil && attributes.Created != nil {
		about.Created = *attributes.Created
	}
	return about
}

// Delete deletes a secret, and purges it where the vault allows that, so that its name is free again.
func (s *Store) Delete(ctx context.Context, id entry.ID) error {
	if _, err := s.client.DeleteSecret(ctx, s.name(id), nil); err != nil {
		return explain(err)
	}
	_, _ = s.client.PurgeDeletedSecret(ctx, s.name(id), nil) // The vault's own retention does it otherwise.
	return nil
}

// List returns the secrets of a scope and below, by path. The token is the last path of the page before. Azure can neither
// select nor sort, so each page costs a list of the whole vault.
func (s *Store) List(ctx context.Context, scope entry.Scope, token string, most int) (entry.Page, error) {
	known := map[string]entry.Metadata{}
	for pager := s.client.NewListSecretPropertiesPager(nil); pager.More(); {
		part, err := pager.NextPage(ctx)
		if err != nil {
			return entry.Page{}, explain(err)
		}
		for _, one := range part.Value {
			path := from(one.Tags[tagPath]) + from(one.Tags[tagPathRest])
			id, ok := entry.ParsePath(path)
			if ok && scope.Contains(id.Scope) && path > token && one.ID != nil && strings.EqualFold(one.ID.Name(), s.name(id)) {
				known[path] = describe(id, one.Tags, one.Attributes)
			}
		}
	}
	var paths []string
	for path := range known {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	page := entry.Page{}
	for i, path := range paths {
		if i == most {
			page.Next = paths[i-1]
			break
		}
		page.Entries = append(page.Entries, known[path])
	}
	return page, nil
}

// Value returns a secret with its value.
func (s *Store) Value(ctx context.Context, id entry.ID) (entry.Content, error) {
	answer, err := s.client.GetSecret(ctx, s.name(id), "", nil)
	if err != nil {
		return entry.Content{}, explain(err)
	}
	value := []byte(from(answer.Value))
	if from(answer.Tags[tagEncoding]) == base64Tag {
		if value, err = base64.StdEncoding.DecodeString(string(value)); err != nil {
			return entry.Content{}, fmt.Errorf("the value of %s is not base64", id)
		}
	}
	return entry.Content{Type: entry.ParseType(from(answer.Tags[tagType])), Value: entry.NewValue(value)}, nil
}

func to(text string) *string { return &text }

func from(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func isStatus(err error, status int) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == status
}

func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case isStatus(err, http.StatusNotFound):
		return entry.ErrNotFound
	}
	return &entry.UnavailableError{Words: "Azure Key Vault does not answer, or refuses", Err: err}
}
