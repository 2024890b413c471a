package secret

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

const (
	defaultLimit = 100
	maxLimit     = 200
)

// ListSecrets implements secretconnect.SecretServiceHandler: it lists the secrets of a scope and of the scopes below it,
// backend by backend. One that an earlier backend has too is listed once.
func (s *Service) ListSecrets(ctx context.Context, request *secretpb.ListSecretsRequest) (*secretpb.ListSecretsResponse, error) {
	scope := entry.Scope{Project: request.GetProject(), Domain: request.GetDomain()}
	if err := checkScope("", scope); err != nil {
		return nil, err
	}
	limit := int(request.GetLimit())
	switch {
	case limit < 0 || limit > maxLimit:
		return nil, rpc.InvalidArgument("limit", "must be from 1 to %d, or 0 for %d, got %d", maxLimit, defaultLimit, limit)
	case limit == 0:
		limit = defaultLimit
	}
	if err := s.ready(); err != nil {
		return nil, err
	}
	at, err := s.positionOf(request.GetToken())
	if err != nil {
		return nil, err
	}
	response := &secretpb.ListSecretsResponse{}
	for at.backend < len(s.deps.Backends) {
		backend := s.deps.Backends[at.backend]
		page, err := backend.List(ctx, scope, at.token, limit-len(response.GetSecrets()))
		if errors.Is(err, entry.ErrBadToken) {
			return nil, rpc.OutOfRange("page token expired; restart from the first page")
		}
		if err != nil {
			return nil, problem(backend.Name, entry.ID{}, entry.Content{}, err)
		}
		for _, about := range page.Entries {
			shadowed, err := s.shadowed(ctx, at.backend, about.ID)
			if err != nil {
				return nil, err
			}
			if !shadowed {
				response.Secrets = append(response.Secrets, s.message(about, request.GetOrganization()))
			}
		}
		at.token = page.Next
		if page.Next == "" {
			at.backend++
		}
		if len(response.GetSecrets()) >= limit {
			break
		}
	}
	if at.backend < len(s.deps.Backends) {
		response.Token = at.String()
	}
	return response, nil
}

// shadowed reports whether an earlier backend has the same secret.
func (s *Service) shadowed(ctx context.Context, backend int, id entry.ID) (bool, error) {
	for _, earlier := range s.deps.Backends[:backend] {
		switch _, err := earlier.Describe(ctx, id); {
		case err == nil:
			return true, nil
		case !errors.Is(err, entry.ErrNotFound):
			return false, problem(earlier.Name, id, entry.Content{}, err)
		}
	}
	return false, nil
}

// position is where a list continues: the index of the backend, and the backend's own token.
type position struct {
	backend int
	token   string
}

// String is the token for clients.
func (p position) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(p.backend) + " " + p.token))
}

func (s *Service) positionOf(token string) (position, error) {
	if token == "" {
		return position{}, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	index, rest, found := strings.Cut(string(text), " ")
	backend, notNumber := strconv.Atoi(index)
	if err != nil || !found || notNumber != nil || backend < 0 || backend >= len(s.deps.Backends) {
		return position{}, rpc.InvalidArgument("token", "invalid page token")
	}
	return position{backend: backend, token: rest}, nil
}
