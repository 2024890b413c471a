package policy

import (
	"context"
	"slices"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// bindingCreate is the permission to give roles.
const bindingCreate = "binding.create"

// Givers are the names of the roles whose holders may give a permission to others: they may give roles, and have the permission themselves.
func (p *Policy) Givers(ctx context.Context, permission string) (roles []string, err error) {
	now, err := p.current(ctx)
	if err != nil {
		return nil, err
	}
	for name, role := range now.roles {
		if gives(role.Permissions, bindingCreate) && gives(role.Permissions, permission) {
			roles = append(roles, name)
		}
	}
	slices.Sort(roles)
	return roles, nil
}

// RolesWith are the names of the roles that give a permission, the smaller ones first.
func (p *Policy) RolesWith(ctx context.Context, permission string) []string {
	return p.rolesWith(ctx, permission)
}

// Touches reports whether a caller has a permission in any part of a place.
func (p *Policy) Touches(ctx context.Context, identity authz.Identity, permission string, place authz.Place) (bool, error) {
	if identity.Kind == authz.Service {
		return true, nil
	}
	if identity.Kind != authz.User && identity.Kind != authz.Key {
		return false, nil
	}
	given, err := p.grantsOf(ctx, identity.Kind, identity.Subject, identity.Groups)
	if err != nil {
		return false, err
	}
	return given.reach(permission).touches(place), nil
}
