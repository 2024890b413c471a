package secret

import (
	"context"
	"errors"

	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// find returns the first backend that has a secret, and what it knows of it.
func (s *Service) find(ctx context.Context, id entry.ID) (Named, entry.Metadata, error) {
	if err := s.ready(); err != nil {
		return Named{}, entry.Metadata{}, err
	}
	for _, backend := range s.deps.Backends {
		about, err := backend.Describe(ctx, id)
		if errors.Is(err, entry.ErrNotFound) {
			continue
		}
		// A backend that does not answer may have it: the next one is not asked.
		return backend, about, problem(backend.Name, id, entry.Content{}, err)
	}
	return Named{}, entry.Metadata{}, problem("", id, entry.Content{}, entry.ErrNotFound)
}
