package secret

import (
	"context"

	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// Backend stores secrets. Its errors are those of package entry; any other means that it cannot answer now. It is safe for
// concurrent use.
type Backend interface {
	// Create stores a new secret; entry.ErrExists if there is one.
	Create(ctx context.Context, id entry.ID, content entry.Content) error
	// Update replaces the value of a secret. Its type stays.
	Update(ctx context.Context, id entry.ID, content entry.Content) error
	// Describe returns the metadata of a secret.
	Describe(ctx context.Context, id entry.ID) (entry.Metadata, error)
	// Delete deletes a secret; entry.ErrNotFound if there is none.
	Delete(ctx context.Context, id entry.ID) error
	// List returns a page of the secrets of a scope and of the scopes below it, about as many as the limit. The empty
	// token begins; entry.ErrBadToken refuses one that is no longer valid. A page may be empty and have a next one.
	List(ctx context.Context, scope entry.Scope, token string, limit int) (entry.Page, error)
	// Value returns a secret with its value.
	Value(ctx context.Context, id entry.ID) (entry.Content, error)
}

// Runner is a backend with a loop, such as one that renews its credentials.
type Runner interface {
	// Run works until the context ends.
	Run(ctx context.Context)
}

// Named is a backend under the name that the configuration gives it.
type Named struct {
	Name string
	Backend
}
