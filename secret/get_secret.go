package secret

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// GetSecret implements secretconnect.SecretServiceHandler: it returns the metadata of a secret, and never its value.
func (s *Service) GetSecret(ctx context.Context, request *secretpb.GetSecretRequest) (*secretpb.GetSecretResponse, error) {
	id, err := idOf(request.GetId())
	if err != nil {
		return nil, err
	}
	_, about, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return &secretpb.GetSecretResponse{Secret: s.message(about, request.GetId().GetOrganization())}, nil
}

// message is a secret as clients see it. One that a backend has reaches every cluster when a task asks for it.
func (s *Service) message(about entry.Metadata, organization string) *secretpb.Secret {
	made := &secretpb.SecretMetadata{
		Type: typeOf(about.Type),
		SecretStatus: &secretpb.SecretStatus{
			OverallStatus: secretpb.OverallStatus_FULLY_PRESENT,
			ClusterStatus: []*secretpb.ClusterSecretStatus{{
				Cluster:        &common.ClusterIdentifier{Name: s.deps.Cluster, Organization: organization},
				PresenceStatus: secretpb.SecretPresenceStatus_PRESENT,
			}},
		},
	}
	if !about.Created.IsZero() {
		made.CreatedTime = timestamppb.New(about.Created)
	}
	return &secretpb.Secret{
		Id:             &secretpb.SecretIdentifier{Name: about.ID.Name, Organization: organization, Project: about.ID.Project, Domain: about.ID.Domain},
		SecretMetadata: made,
	}
}
