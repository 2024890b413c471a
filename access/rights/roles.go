package rights

import (
	"context"
	"errors"

	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/store"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// ListRoles implements AccessServiceHandler.
func (h *Handler) ListRoles(ctx context.Context, _ *accessv1.ListRolesRequest) (*accessv1.ListRolesResponse, error) {
	roles, err := h.Policy.RoleList(ctx)
	if err != nil {
		return nil, err
	}
	response := &accessv1.ListRolesResponse{}
	for _, role := range roles {
		response.Roles = append(response.Roles, roleOf(role))
	}
	return response, nil
}

// PutRole implements AccessServiceHandler.
func (h *Handler) PutRole(ctx context.Context, request *accessv1.PutRoleRequest) (*accessv1.PutRoleResponse, error) {
	role := store.Role{
		Name: request.GetRole().GetName(), Description: request.GetRole().GetDescription(), Permissions: request.GetRole().GetPermissions(),
	}
	if err := h.own(ctx, role.Name); err != nil {
		return nil, err
	}
	for _, pattern := range role.Permissions {
		if err := policy.CheckPattern(pattern); err != nil {
			return nil, rpc.InvalidArgument("role.permissions", "%s", err)
		}
	}
	if err := h.requireAll(ctx, role, authz.Place{}); err != nil {
		return nil, err
	}
	if err := h.Store.PutRole(ctx, role); err != nil {
		return nil, rpc.Internal(err, "the role cannot be stored")
	}
	h.Changed(ctx)
	return &accessv1.PutRoleResponse{Role: roleOf(role)}, nil
}

// DeleteRole implements AccessServiceHandler.
func (h *Handler) DeleteRole(ctx context.Context, request *accessv1.DeleteRoleRequest) (*accessv1.DeleteRoleResponse, error) {
	name := request.GetName()
	if err := h.own(ctx, name); err != nil {
		return nil, err
	}
	switch err := h.Store.DeleteRole(ctx, name); {
	case errors.Is(err, store.ErrNone):
		return nil, rpc.NotFound("there is no role %q", name)
	case errors.Is(err, store.ErrBound):
		return nil, rpc.FailedPrecondition("bindings name the role %s; delete them first", name)
	case err != nil:
		return nil, err
	}
	h.Changed(ctx)
	return &accessv1.DeleteRoleResponse{}, nil
}

// own refuses to change roles that do not come from calls.
func (h *Handler) own(ctx context.Context, name string) error {
	role, known, err := h.Policy.Role(ctx, name)
	switch {
	case err != nil:
		return err
	case known && role.BuiltIn:
		return rpc.FailedPrecondition("the role %s comes with the product and cannot be changed; make another", name)
	case known && role.Configured:
		return rpc.FailedPrecondition("the role %s is in the configuration, access.roles; change it there", name)
	}
	return nil
}

func roleOf(role store.Role) *accessv1.Role {
	return &accessv1.Role{
		Name: role.Name, Description: role.Description, Permissions: role.Permissions, BuiltIn: role.BuiltIn, Configured: role.Configured,
	}
}
