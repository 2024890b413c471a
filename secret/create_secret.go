package secret

import (
	"context"
	"errors"

	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// CreateSecret implements secretconnect.SecretServiceHandler: it stores a new secret in the first backend. The name must
// be free in all of them, since the first that has it wins.
func (s *Service) CreateSecret(ctx context.Context, request *secretpb.CreateSecretRequest) (*secretpb.CreateSecretResponse, error) {
	id, err := idOf(request.GetId())
	if err != nil {
		return nil, err
	}
	content, err := contentOf(request.GetSecretSpec())
	if err != nil {
		return nil, err
	}
	var answer *rpc.Error
	switch backend, _, err := s.find(ctx, id); {
	case err == nil:
		return nil, rpc.AlreadyExists("%s already exists in backend %s", id, backend.Name)
	case !errors.As(err, &answer) || answer.Kind != rpc.KindNotFound:
		return nil, err
	}
	defer s.pulls.changed(content.Type)
	first := s.deps.Backends[0]
	if err := first.Create(ctx, id, content); err != nil {
		return nil, problem(first.Name, id, content, err)
	}
	return &secretpb.CreateSecretResponse{}, nil
}
