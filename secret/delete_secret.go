package secret

import (
	"context"

	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// DeleteSecret implements secretconnect.SecretServiceHandler: it deletes a secret where it is. Attempts that run keep their
// value.
func (s *Service) DeleteSecret(ctx context.Context, request *secretpb.DeleteSecretRequest) (*secretpb.DeleteSecretResponse, error) {
	id, err := idOf(request.GetId())
	if err != nil {
		return nil, err
	}
	backend, about, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	defer s.pulls.changed(about.Type)
	if err := backend.Delete(ctx, id); err != nil {
		return nil, problem(backend.Name, id, entry.Content{}, err)
	}
	return &secretpb.DeleteSecretResponse{}, nil
}
