package secret

import (
	"context"

	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// UpdateSecret implements secretconnect.SecretServiceHandler: it replaces the value where the secret is. Attempts that
// begin later get the new one.
func (s *Service) UpdateSecret(ctx context.Context, request *secretpb.UpdateSecretRequest) (*secretpb.UpdateSecretResponse, error) {
	id, err := idOf(request.GetId())
	if err != nil {
		return nil, err
	}
	content, err := contentOf(request.GetSecretSpec())
	if err != nil {
		return nil, err
	}
	backend, about, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if about.Type != content.Type {
		return nil, rpc.InvalidArgument("secret_spec.type", "cannot be changed: this secret is %s; delete the secret and create it again", typeOf(about.Type))
	}
	defer s.pulls.changed(content.Type)
	if err := backend.Update(ctx, id, content); err != nil {
		return nil, problem(backend.Name, id, content, err)
	}
	return &secretpb.UpdateSecretResponse{}, nil
}
