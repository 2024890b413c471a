package runs

import (
	"context"
	"slices"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/org"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/org/orgconnect"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// domainHandler serves DomainService from the configuration; its writes are refused.
type domainHandler struct {
	orgconnect.UnimplementedDomainServiceHandler
	svc *Service
}

var _ orgconnect.DomainServiceHandler = (*domainHandler)(nil)

const domainsAreConfigured = "domains are part of the server's configuration"

// ListDomains implements orgconnect.DomainServiceHandler.
func (h *domainHandler) ListDomains(_ context.Context, request *org.ListDomainsRequest) (*org.ListDomainsResponse, error) {
	response := &org.ListDomainsResponse{}
	for _, id := range h.svc.config.Domains {
		response.Domains = append(response.Domains, domainMessage(request.GetOrg(), id))
	}
	return response, nil
}

// GetDomain implements orgconnect.DomainServiceHandler.
func (h *domainHandler) GetDomain(_ context.Context, request *org.GetDomainRequest) (*org.GetDomainResponse, error) {
	if !slices.Contains(h.svc.config.Domains, request.GetId()) {
		return nil, rpc.NotFound("domain %q does not exist", request.GetId())
	}
	return &org.GetDomainResponse{Domain: domainMessage(request.GetOrg(), request.GetId())}, nil
}

// CreateDomain implements orgconnect.DomainServiceHandler.
func (h *domainHandler) CreateDomain(context.Context, *org.CreateDomainRequest) (*org.CreateDomainResponse, error) {
	return nil, rpc.Unimplemented(domainsAreConfigured)
}

// UpdateDomain implements orgconnect.DomainServiceHandler.
func (h *domainHandler) UpdateDomain(context.Context, *org.UpdateDomainRequest) (*org.UpdateDomainResponse, error) {
	return nil, rpc.Unimplemented(domainsAreConfigured)
}

// DeleteDomain implements orgconnect.DomainServiceHandler.
func (h *domainHandler) DeleteDomain(context.Context, *org.DeleteDomainRequest) (*org.DeleteDomainResponse, error) {
	return nil, rpc.Unimplemented(domainsAreConfigured)
}

func domainMessage(organisation, id string) *org.Domain {
	return &org.Domain{Id: id, Org: organisation, FriendlyName: id}
}
