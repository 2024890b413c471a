package secret

import (
	"context"
	"errors"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// maxAnswer bounds the values of one answer, in bytes. A task can have half of it: a Kubernetes Secret has 1 MiB.
const maxAnswer = 2 << 20

// GetSecretValues implements enginev1connect.SecretValueServiceHandler: it reads the values that a task of a project and
// domain gets. The narrowest scope wins, whichever backend has it; within a scope, the first backend.
func (s *Service) GetSecretValues(ctx context.Context, request *enginev1.GetSecretValuesRequest) (*enginev1.GetSecretValuesResponse, error) {
	if s.deps.Located != nil {
		if err := s.deps.Located.Check(ctx, request.GetHolder(), request.GetProject(), request.GetDomain()); err != nil {
			return nil, err
		}
	}
	if err := s.ready(); err != nil {
		if len(request.GetNames()) == 0 {
			return &enginev1.GetSecretValuesResponse{}, nil // without backends there are no credentials for images
		}
		return nil, err
	}
	chain := entry.Scope{Project: request.GetProject(), Domain: request.GetDomain()}.Chain()
	response := &enginev1.GetSecretValuesResponse{}
	for _, scope := range chain {
		response.Searched = append(response.Searched, scope.String())
	}
	total := 0
	for _, name := range request.GetNames() {
		content, found, err := s.value(ctx, chain, name)
		if err != nil {
			return nil, err
		}
		if !found {
			response.Missing = append(response.Missing, name)
			continue
		}
		if total += content.Value.Len(); total > maxAnswer {
			return nil, rpc.InvalidArgument("names", "name secrets with more than %d bytes in total; request fewer names per call", maxAnswer)
		}
		response.Values = append(response.Values, &enginev1.SecretValue{
			Name: name, Value: content.Value.Reveal(), ImagePull: content.Type == entry.ImagePull,
		})
	}
	config, err := s.pullConfig(ctx, chain, request.GetImages())
	if total += len(config); err == nil && total > maxAnswer {
		return nil, rpc.InvalidArgument("names", "name secrets with more than %d bytes in total, including image pull secrets; request fewer names per call", maxAnswer)
	}
	response.PullConfig = config
	return response, err
}

// value reads the value of a name in the first scope that has it. A backend that does not answer ends the search: it might
// have a narrower one.
func (s *Service) value(ctx context.Context, chain []entry.Scope, name string) (entry.Content, bool, error) {
	if !ident.IsSecretName(name) {
		return entry.Content{}, false, nil
	}
	for _, scope := range chain {
		id := entry.ID{Scope: scope, Name: name}
		for _, backend := range s.deps.Backends {
			content, err := backend.Value(ctx, id)
			if errors.Is(err, entry.ErrNotFound) {
				continue
			}
			return content, err == nil, problem(backend.Name, id, entry.Content{}, err)
		}
	}
	return entry.Content{}, false, nil
}
