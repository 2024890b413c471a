// Package vault stores secrets in HashiCorp Vault, in the secrets engine KV of version 2: each at
// MOUNT/data/PREFIX/DOMAIN/PROJECT/NAME, with a dash for a domain or project that it does not have. It signs in with a
// token, the service account of the pod or an AppRole, and renews its token. It builds on secret/entry.
package vault

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hashicorp/vault/api"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// Fields of the data of a secret. A value that is not text is base64.
const (
	fieldValue   = "value"
	fieldBinary  = "binary"
	fieldType    = "type"
	fieldCreated = "created"
)

// limit is the largest value. Vault's own storage takes entries of 1 MiB, and base64 makes a value longer by a third.
const limit = 700 << 10

// Store is the backend. It is safe for concurrent use.
type Store struct {
	config  Config
	clock   clock.Clock
	session *session
}

// New returns the backend. It makes no call.
func New(config Config, clk clock.Clock, log zerolog.Logger) (*Store, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	settings := api.DefaultConfig()
	if settings.Error != nil {
		return nil, fmt.Errorf("address: %w", settings.Error)
	}
	settings.Address = config.Address
	settings.MaxRetries = 0 // The callers retry.
	settings.Timeout = 20 * time.Second
	if config.CAFile != "" {
		if err := settings.ConfigureTLS(&api.TLSConfig{CACert: config.CAFile}); err != nil {
			return nil, fmt.Errorf("caFile: %w", err)
		}
	}
	client, err := api.NewClient(settings)
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	client.ClearToken() // It may have one of the environment.
	client.ClearNamespace()
	if config.Namespace != "" {
		client.SetNamespace(config.Namespace)
	}
	return &Store{config: config, clock: clk, session: &session{auth: config.Auth, client: client, clock: clk, log: log}}, nil
}

// Run keeps the token of Vault alive until the context ends.
func (s *Store) Run(ctx context.Context) { s.session.keep(ctx) }

func (s *Store) kv() *api.KVv2 { return s.session.client.KVv2(s.config.Mount) }

func (s *Store) path(id entry.ID) string { return s.config.Prefix + "/" + id.Path() }

// stored is one version of a secret.
type stored struct {
	about   entry.Metadata
	value   entry.Value
	version int
}

// Create stores a new secret.
func (s *Store) Create(ctx context.Context, id entry.ID, content entry.Content) error {
	return s.put(ctx, id, content, s.clock.Now(), 0, entry.ErrExists)
}

// put writes a version if the current one is the given; else it returns the error.
func (s *Store) put(ctx context.Context, id entry.ID, content entry.Content, created time.Time, current int, otherwise error) error {
	if content.Value.Len() > limit {
		return entry.TooLargeError{Limit: limit}
	}
	fields := map[string]any{fieldType: content.Type.String(), fieldCreated: created.UTC().Format(time.RFC3339Nano)}
	if value := content.Value.Reveal(); utf8.Valid(value) {
		fields[fieldValue] = string(value)
	} else {
		fields[fieldBinary] = base64.StdEncoding.EncodeToString(value)
	}
	err := s.session.call(ctx, func(ctx context.Context) error {
		_, err := s.kv().Put(ctx, s.path(id), fields, api.WithCheckAndSet(current))
		return err
	})
	if isStatus(err, http.StatusBadRequest) && strings.Contains(err.Error(), "check-and-set") {
		return otherwise
	}
	return explain(err)
}

// Update replaces the value of a secret, unless another request changes it at the same time.
func (s *Store) Update(ctx context.Context, id entry.ID, content entry.Content) error {
	now, err := s.read(ctx, id)
	if err != nil {
		return err
	}
	return s.put(ctx, id, content, now.about.Created, now.version, entry.ErrConflict)
}

// Describe returns what is known of a secret.
func (s *Store) Describe(ctx context.Context, id entry.ID) (entry.Metadata, error) {
	read, err := s.read(ctx, id)
	return read.about, err
}

// Value returns a secret with its value.
func (s *Store) Value(ctx context.Context, id entry.ID) (entry.Content, error) {
	read, err := s.read(ctx, id)
	return entry.Content{Type: read.about.Type, Value: read.value}, err
}

func (s *Store) read(ctx context.Context, id entry.ID) (stored, error) {
	var answer *api.KVSecret
	err := s.session.call(ctx, func(ctx context.Context) error {
		var err error
		answer, err = s.kv().Get(ctx, s.path(id))
		return err
	})
	switch {
	case errors.Is(err, api.ErrSecretNotFound), err == nil && len(answer.Data) == 0: // never existed, or its version was deleted
		return stored{}, entry.ErrNotFound
	case err != nil:
		return stored{}, explain(err)
	}
	result := stored{about: entry.Metadata{ID: id, Type: entry.ParseType(text(answer, fieldType))}}
	if version := answer.VersionMetadata; version != nil {
		result.version, result.about.Created = version.Version, version.CreatedTime
	}
	if created, err := time.Parse(time.RFC3339Nano, text(answer, fieldCreated)); err == nil {
		result.about.Created = created
	}
	if encoded, binary := answer.Data[fieldBinary].(string); binary {
		value, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return stored{}, fmt.Errorf("the field %s of %s is not base64", fieldBinary, id)
		}
		result.value = entry.NewValue(value)
		return result, nil
	}
	value, ok := answer.Data[fieldValue].(string)
	if !ok {
		return stored{}, fmt.Errorf("%s has no text field %s", id, fieldValue)
	}
	result.value = entry.NewValue([]byte(value))
	return result, nil
}

func text(answer *api.KVSecret, field string) string {
	value, _ := answer.Data[field].(string)
	return value
}

// Delete deletes all versions of a secret.
func (s *Store) Delete(ctx context.Context, id entry.ID) error {
	if _, err := s.read(ctx, id); err != nil {
		return err
	}
	return explain(s.session.call(ctx, func(ctx context.Context) error { return s.kv().DeleteMetadata(ctx, s.path(id)) }))
}

// List returns the secrets of a scope and below, by path. The token is the last path of the page before. Vault has no
// pages, so each one costs a walk over the names, and a read of each secret that it has.
func (s *Store) List(ctx context.Context, scope entry.Scope, token string, limit int) (entry.Page, error) {
	paths, err := s.walk(ctx, scope.Prefix(), strings.Count(scope.Prefix(), "/"))
	if err != nil {
		return entry.Page{}, err
	}
	slices.Sort(paths)
	page := entry.Page{}
	last := ""
	for _, path := range paths {
		id, ok := entry.ParsePath(path)
		if path <= token || !ok {
			continue
		}
		if len(page.Entries) == limit {
			page.Next = last
			break
		}
		last = path
		about, err := s.Describe(ctx, id)
		if errors.Is(err, entry.ErrNotFound) {
			continue // deleted since
		}
		if err != nil {
			return entry.Page{}, err
		}
		page.Entries = append(page.Entries, about)
	}
	return page, nil
}

// walk returns the paths of the secrets in a folder and below. Ours are three levels deep.
func (s *Store) walk(ctx context.Context, folder string, depth int) ([]string, error) {
	names, err := s.names(ctx, folder)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, name := range names {
		switch isFolder := strings.HasSuffix(name, "/"); {
		case isFolder && depth < 2:
			below, err := s.walk(ctx, folder+name, depth+1)
			if err != nil {
				return nil, err
			}
			paths = append(paths, below...)
		case !isFolder && depth == 2:
			paths = append(paths, folder+name)
		}
	}
	return paths, nil
}

// names lists a folder; those of folders end with a slash.
func (s *Store) names(ctx context.Context, folder string) ([]string, error) {
	var answer *api.Secret
	err := s.session.call(ctx, func(ctx context.Context) error {
		var err error
		answer, err = s.session.client.Logical().ListWithContext(ctx, s.config.Mount+"/metadata/"+s.config.Prefix+"/"+folder)
		return err
	})
	if err != nil || answer == nil {
		return nil, explain(err)
	}
	listed, _ := answer.Data["keys"].([]any)
	var names []string
	for _, one := range listed {
		if name, ok := one.(string); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// explain says in words what of Vault's errors clients may know.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case isStatus(err, http.StatusServiceUnavailable):
		return &entry.UnavailableError{Words: "Vault is sealed or in maintenance", Err: err}
	case isStatus(err, http.StatusForbidden):
		return &entry.UnavailableError{Words: "Vault does not allow this server to do that", Err: err}
	}
	return &entry.UnavailableError{Words: "Vault does not answer", Err: err}
}
