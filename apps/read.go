package apps

import (
	"context"
	"strings"

	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Get implements appconnect.AppServiceHandler: by name, or by any address of the app.
func (h *handler) Get(ctx context.Context, r *app.GetRequest) (*app.GetResponse, error) {
	a, err := h.find(ctx, r)
	if err != nil {
		return nil, err
	}
	found, err := h.message(ctx, a)
	return &app.GetResponse{App: found}, err
}

// find reads an app by its name or by the first address that the request has. An app that the caller may not see is
// reported as not found, so that addresses cannot be probed.
func (h *handler) find(ctx context.Context, r *app.GetRequest) (*store.App, error) {
	if id := r.GetAppId(); id != nil {
		return h.store.Get(ctx, keyOf(id))
	}
	ingress := r.GetIngress()
	for _, address := range []string{ingress.GetPublicUrl(), ingress.GetCnameUrl(), ingress.GetVpcUrl()} {
		if address == "" {
			continue
		}
		key, host, subdomain := h.addresses.find(address)
		if key.Name != "" {
			return h.visible(ctx, key)
		}
		if host == "" && subdomain == "" {
			return nil, rpc.InvalidArgument("ingress", "%q is not a valid URL", address)
		}
		a, err := h.store.ByHost(ctx, host, subdomain)
		if err != nil {
			return nil, err
		}
		if a == nil || !listquery.Sees(ctx, a.Project, a.Domain) {
			return nil, rpc.NotFound("no app has the address %s", address)
		}
		return a, nil
	}
	return nil, rpc.InvalidArgument("ingress", "public_url or cname_url is required")
}

// visible reads an app by a name that the request does not give as such, so that no one has checked it.
func (h *handler) visible(ctx context.Context, key store.Key) (*store.App, error) {
	a, err := h.store.Get(ctx, key)
	if err == nil && !listquery.Sees(ctx, a.Project, a.Domain) {
		return nil, store.NotFound(key)
	}
	return a, err
}

// Delete implements appconnect.AppServiceHandler. To delete what does not exist is not an error.
func (h *handler) Delete(ctx context.Context, r *app.DeleteRequest) (*app.DeleteResponse, error) {
	_, err := h.store.Delete(ctx, keyOf(r.GetAppId()))
	return &app.DeleteResponse{}, err
}

// List implements appconnect.AppServiceHandler.
func (h *handler) List(ctx context.Context, r *app.ListRequest) (*app.ListResponse, error) {
	var scope store.Scope
	switch by := r.GetFilterBy().(type) {
	case *app.ListRequest_Project:
		scope.Project, scope.Domain = by.Project.GetName(), by.Project.GetDomain()
	case *app.ListRequest_ClusterId:
		scope.Cluster = by.ClusterId.GetName()
	case *app.ListRequest_Artifact:
		scope.Artifact = store.Artifact{
			Project: by.Artifact.GetProject(), Domain: by.Artifact.GetDomain(), Name: by.Artifact.GetName(), Version: by.Artifact.GetVersion(),
		}
	}
	rows, token, total, err := h.store.List(ctx, scope, statuses(), r.GetRequest(), r.GetIncludeTotalCount())
	if err != nil {
		return nil, err
	}
	found, err := h.messages(ctx, rows, listConditions)
	return &app.ListResponse{Apps: found, Token: token, TotalCount: total}, err
}

// statuses are the names of statuses by which clients filter: with the prefix of the contract, or without it.
func statuses() store.Statuses {
	names := store.Statuses{}
	for number, name := range app.Status_DeploymentStatus_name {
		name = strings.ToLower(name)
		names[name] = int64(number)
		names[strings.TrimPrefix(name, "deployment_status_")] = int64(number)
	}
	return names
}
