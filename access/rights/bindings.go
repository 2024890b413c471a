package rights

import (
	"context"
	"errors"
	"strconv"

	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/store"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// ListBindings implements AccessServiceHandler. The first page begins with those of the configuration.
func (h *Handler) ListBindings(ctx context.Context, request *accessv1.ListBindingsRequest) (*accessv1.ListBindingsResponse, error) {
	limit, place := pageOf(request.GetLimit()), placeOf(request.GetScope())
	filter := store.BindingFilter{
		Scoped: request.GetScope() != nil, Project: place.Project, Domain: place.Domain, Member: memberOf(request.GetMember()), Limit: limit + 1,
	}
	var listed []store.Binding
	if request.GetToken() == "" {
		listed = h.configured(ctx, filter)
	} else {
		key, err := parts(request.GetToken(), 1)
		if err != nil {
			return nil, err
		}
		if filter.After, err = number(key[0]); err != nil {
			return nil, err
		}
	}
	stored, err := h.Store.ListBindings(ctx, filter)
	if err != nil {
		return nil, err
	}
	response := &accessv1.ListBindingsResponse{}
	if len(stored) > limit {
		stored = stored[:limit]
		response.Token = token(stored[limit-1].ID)
	}
	response.Bindings = bindingsOf(append(listed, stored...))
	return response, h.nameKeys(ctx, response.GetBindings())
}

// nameKeys adds the names of members that are keys: their ids mean nothing to people.
func (h *Handler) nameKeys(ctx context.Context, bindings []*accessv1.Binding) error {
	var ids []string
	for _, b := range bindings {
		if b.GetMember().GetKind() == accessv1.MemberKind_MEMBER_KIND_KEY {
			ids = append(ids, b.GetMember().GetName())
		}
	}
	names, err := h.Store.KeyNames(ctx, ids)
	for _, b := range bindings {
		if b.GetMember().GetKind() == accessv1.MemberKind_MEMBER_KIND_KEY {
			b.KeyName = names[b.GetMember().GetName()]
		}
	}
	return err
}

// configured are the bindings of the configuration that a list has.
func (h *Handler) configured(ctx context.Context, filter store.BindingFilter) (listed []store.Binding) {
	for _, b := range h.Policy.Configured() {
		reaches := (b.Project == "" || b.Project == filter.Project) && (b.Domain == "" || b.Domain == filter.Domain)
		if (!filter.Scoped || reaches) && (filter.Member == store.Member{} || filter.Member == b.Member) &&
			listquery.Sees(ctx, b.Project, b.Domain) {
			listed = append(listed, b)
		}
	}
	return listed
}

// CreateBinding implements AccessServiceHandler.
func (h *Handler) CreateBinding(ctx context.Context, request *accessv1.CreateBindingRequest) (*accessv1.CreateBindingResponse, error) {
	place := placeOf(request.GetScope())
	role, err := h.role(ctx, "scope", request.GetRole(), place)
	if err != nil {
		return nil, err
	}
	if err := h.requireAll(ctx, role, place); err != nil {
		return nil, err
	}
	made, err := h.Store.CreateBinding(ctx, store.Binding{
		Member: memberOf(request.GetMember()), Role: role.Name, Project: place.Project, Domain: place.Domain, CreatedBy: caller.Subject(ctx),
	}, role.BuiltIn || role.Configured)
	switch {
	case errors.Is(err, store.ErrNone):
		return nil, rpc.NotFound("there is no role %q", role.Name)
	case err != nil:
		return nil, err
	}
	h.Changed(ctx)
	return &accessv1.CreateBindingResponse{Binding: bindingsOf([]store.Binding{made})[0]}, nil
}

// DeleteBinding implements AccessServiceHandler.
func (h *Handler) DeleteBinding(ctx context.Context, request *accessv1.DeleteBindingRequest) (*accessv1.DeleteBindingResponse, error) {
	place := placeOf(request.GetScope())
	if _, err := strconv.ParseInt(request.GetId(), 10, 64); err != nil {
		return nil, rpc.InvalidArgument("id", "is not the id of a binding; those of the configuration have none and are changed there")
	}
	switch err := h.Store.DeleteBinding(ctx, request.GetId(), place.Project, place.Domain); {
	case errors.Is(err, store.ErrNone):
		return nil, rpc.NotFound("there is no binding %s %s", request.GetId(), policy.In(place))
	case err != nil:
		return nil, err
	}
	h.Changed(ctx)
	return &accessv1.DeleteBindingResponse{}, nil
}
