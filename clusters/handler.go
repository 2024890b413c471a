package clusters

import (
	"cmp"
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// handler serves ClusterRegistryService.
type handler struct {
	registry *Registry
	states   *states.Reader
	clock    clock.Clock
	// version is that of the API.
	version string
	// installation is the id of the installation.
	installation string
	// lostAfter is how long a cluster may be away; 0 means forever.
	lostAfter time.Duration
	// stores are the prefixes of URIs that a cluster with these labels reaches, apart from those that all reach.
	stores func(name string, labels map[string]string) []string
}

// AddCluster implements clustersv1connect.ClusterRegistryServiceHandler.
func (h *handler) AddCluster(ctx context.Context, request *clustersv1.AddClusterRequest) (*clustersv1.AddClusterResponse, error) {
	added, issued, err := h.registry.Add(ctx, request.GetName(), caller.Subject(ctx))
	if err != nil {
		return nil, err
	}
	h.states.Forget()
	return &clustersv1.AddClusterResponse{
		Cluster: h.message(added, states.State{State: states.Ready, Weight: 1}, Work{}), Secret: issued.Secret, Installation: h.installation,
	}, nil
}

// ListClusters implements clustersv1connect.ClusterRegistryServiceHandler. The token of a page is the last name of the page before.
func (h *handler) ListClusters(ctx context.Context, request *clustersv1.ListClustersRequest) (*clustersv1.ListClustersResponse, error) {
	if token := request.GetToken(); token != "" && !ident.IsCluster(token) {
		return nil, rpc.InvalidArgument("token", "invalid page token")
	}
	limit := int(cmp.Or(request.GetLimit(), 100))
	found, err := h.registry.List(ctx, request.GetToken(), limit+1)
	if err != nil {
		return nil, err
	}
	known, err := h.states.All(ctx)
	if err != nil {
		return nil, err
	}
	works, err := h.registry.works(ctx)
	if err != nil {
		return nil, err
	}
	response := &clustersv1.ListClustersResponse{}
	if len(found) > limit {
		found = found[:limit]
		response.Token = found[limit-1].Name
	}
	for _, one := range found {
		response.Clusters = append(response.Clusters, h.message(one, stateOf(known, one.Name), works[one.Name]))
	}
	return response, nil
}

// GetCluster implements clustersv1connect.ClusterRegistryServiceHandler.
func (h *handler) GetCluster(ctx context.Context, request *clustersv1.GetClusterRequest) (*clustersv1.GetClusterResponse, error) {
	found, err := h.read(ctx, request.GetName())
	if err != nil {
		return nil, err
	}
	return &clustersv1.GetClusterResponse{Cluster: found}, nil
}

// IssueCredential implements clustersv1connect.ClusterRegistryServiceHandler.
func (h *handler) IssueCredential(ctx context.Context, request *clustersv1.IssueCredentialRequest) (*clustersv1.IssueCredentialResponse, error) {
	issued, err := h.registry.Issue(ctx, request.GetCluster(), caller.Subject(ctx))
	if err != nil {
		return nil, err
	}
	return &clustersv1.IssueCredentialResponse{Credential: credentialOf(issued.Credential), Secret: issued.Secret}, nil
}

// RevokeCredential implements clustersv1connect.ClusterRegistryServiceHandler.
func (h *handler) RevokeCredential(ctx context.Context, request *clustersv1.RevokeCredentialRequest) (*clustersv1.RevokeCredentialResponse, error) {
	revoked, err := h.registry.Revoke(ctx, request.GetId())
	if err != nil {
		return nil, err
	}
	return &clustersv1.RevokeCredentialResponse{Credential: credentialOf(revoked)}, nil
}

// RemoveCluster implements clustersv1connect.ClusterRegistryServiceHandler.
func (h *handler) RemoveCluster(ctx context.Context, request *clustersv1.RemoveClusterRequest) (*clustersv1.RemoveClusterResponse, error) {
	if err := h.registry.Remove(ctx, request.GetName(), request.GetForce()); err != nil {
		return nil, err
	}
	h.states.Forget()
	return &clustersv1.RemoveClusterResponse{}, nil
}

func credentialOf(c store.Credential) *clustersv1.Credential {
	return &clustersv1.Credential{
		Id: c.ID, Hint: c.Hint, CreatedBy: c.CreatedBy, CreatedAt: timestamppb.New(c.CreatedAt), RevokedAt: timeOf(c.RevokedAt),
		LastUsedAt: timeOf(c.LastUsedAt),
	}
}

func timeOf(at *time.Time) *timestamppb.Timestamp {
	if at == nil {
		return nil
	}
	return timestamppb.New(*at)
}
