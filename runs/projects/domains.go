package projects

import (
	"context"
	"slices"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/org"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/org/orgconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Domains serves DomainService: the configured domains, in order. Writes are refused.
type Domains []string

var _ orgconnect.DomainServiceHandler = Domains{}

const domainsAreConfigured = "domains are part of the server's configuration"

// ListDomains implements orgconnect.DomainServiceHandler.
func (h Domains) ListDomains(_ context.Context, request *org.ListDomainsRequest) (*org.ListDomainsResponse, error) {
	response := &org.ListDomainsResponse{}
	for _, id := range h {
		response.Domains = append(response.Domains, domainMessage(request.GetOrg(), id))
	}
	return response, nil
}

// GetDomain implements orgconnect.DomainServiceHandler.
func (h Domains) GetDomain(_ context.Context, request *org.GetDomainRequest) (*org.GetDomainResponse, error) {
	if !slices.Contains(h, request.GetId()) {
		return nil, rpc.NotFound("domain %q does not exist", request.GetId())
	}
	return &org.GetDomainResponse{Domain: domainMessage(request.GetOrg(), request.GetId())}, nil
}

// CreateDomain implements orgconnect.DomainServiceHandler.
func (h Domains) CreateDomain(context.Context, *org.CreateDomainRequest) (*org.CreateDomainResponse, error) {
	return nil, rpc.Unimplemented(domainsAreConfigured)
}

// UpdateDomain implements orgconnect.DomainServiceHandler.
func (h Domains) UpdateDomain(context.Context, *org.UpdateDomainRequest) (*org.UpdateDomainResponse, error) {
	return nil, rpc.Unimplemented(domainsAreConfigured)
}

// DeleteDomain implements orgconnect.DomainServiceHandler.
func (h Domains) DeleteDomain(context.Context, *org.DeleteDomainRequest) (*org.DeleteDomainResponse, error) {
	return nil, rpc.Unimplemented(domainsAreConfigured)
}

func domainMessage(organisation, id string) *org.Domain {
	return &org.Domain{Id: id, Org: organisation, FriendlyName: id}
}
