package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Explanation is a decision with its reasons.
type Explanation struct {
	Allowed bool
	// Bindings are those that allow it; if none does, those of the member that reach the place.
	Bindings []store.Binding
	// Roles would allow it, the smaller ones first.
	Roles  []string
	Reason string
}

// Explain decides whether a member may do something in a place, as Authorise does. A user has the groups as well.
func (p *Policy) Explain(ctx context.Context, member store.Member, groups []string, permission string, place authz.Place) (Explanation, error) {
	given, err := p.grantsOfMember(ctx, member, groups)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Roles: p.rolesWith(ctx, permission), Allowed: given.reach(permission).has(place)}
	reaching := func(bindings []store.Binding) []store.Binding {
		return slices.DeleteFunc(slices.Clone(bindings), func(b store.Binding) bool {
			return !reachOf([]store.Binding{b}).touches(place)
		})
	}
	if e.Allowed {
		e.Bindings = reaching(given.giving(permission))
		e.Reason = fmt.Sprintf("%s may %s %s: %s", Name(member), permission, In(place), rolesIn(e.Bindings))
		return e, nil
	}
	e.Bindings = reaching(given.bindings)
	e.Reason = fmt.Sprintf("%s may not %s %s: it has %s, and needs one of the roles %s",
		Name(member), permission, In(place), rolesIn(e.Bindings), strings.Join(e.Roles, ", "))
	if given.owner != nil && reachOf(given.giving(permission)).has(place) {
		owner := store.Member{Kind: store.UserMember, Name: given.ownedBy}
		e.Reason = fmt.Sprintf("%s may not %s %s: it has %s, but a key may do no more than its owner, and %s has %s",
			Name(member), permission, In(place), rolesIn(reaching(given.giving(permission))), Name(owner), rolesIn(reaching(given.owner.bindings)))
	}
	if len(e.Roles) == 0 {
		e.Reason = fmt.Sprintf("%s may not %s %s: no role gives this permission", Name(member), permission, In(place))
	}
	return e, nil
}

// Name is a member in words.
func Name(member store.Member) string { return string(member.Kind) + " " + member.Name }

// In is a place in words.
func In(place authz.Place) string {
	switch {
	case place == authz.Place{}:
		return "in the whole installation"
	case place.Domain == "":
		return "in project " + place.Project
	case place.Project == "":
		return "in domain " + place.Domain + " of every project"
	default:
		return "in " + place.Project + "/" + place.Domain
	}
}

func rolesIn(bindings []store.Binding) string {
	if len(bindings) == 0 {
		return "no role there"
	}
	var texts []string
	for _, b := range bindings {
		text := fmt.Sprintf("the role %s %s", b.Role, In(authz.Place{Project: b.Project, Domain: b.Domain}))
		if b.Member.Kind == store.GroupMember {
			text += " by group " + b.Member.Name
		}
		switch { // which binding it is, for who wants to change it
		case b.ID != "":
			text += fmt.Sprintf(" (binding %s, given by %s)", b.ID, b.CreatedBy)
		case b.CreatedBy != "":
			text += fmt.Sprintf(" (of the %s)", b.CreatedBy)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func (p *Policy) grantsOfMember(ctx context.Context, member store.Member, groups []string) (*grants, error) {
	switch member.Kind {
	case store.KeyMember:
		return p.grantsOf(ctx, authz.Key, member.Name, nil)
	case store.GroupMember:
		return p.grantsOf(ctx, authz.User, "", append([]string{member.Name}, groups...))
	default:
		return p.grantsOf(ctx, authz.User, member.Name, groups)
	}
}

// Allows reports whether a caller has a permission in all of a place.
func (p *Policy) Allows(ctx context.Context, identity authz.Identity, permission string, place authz.Place) (bool, error) {
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
	return given.reach(permission).has(place), nil
}

// Missing are the permissions of a role that a caller does not have in all of a place, and so cannot give to others.
func (p *Policy) Missing(ctx context.Context, identity authz.Identity, role store.Role, place authz.Place) (missing []string, err error) {
	for _, permission := range Expand(role) {
		allowed, err := p.Allows(ctx, identity, permission, place)
		if err != nil {
			return nil, err
		}
		if !allowed {
			missing = append(missing, permission)
		}
	}
	return missing, nil
}

// Role is the role of a name, and whether there is one.
func (p *Policy) Role(ctx context.Context, name string) (store.Role, bool, error) {
	now, err := p.current(ctx)
	if err != nil {
		return store.Role{}, false, err
	}
	role, ok := now.roles[name]
	return role, ok, nil
}

// RoleList is all roles, in alphabetical order.
func (p *Policy) RoleList(ctx context.Context) ([]store.Role, error) {
	now, err := p.current(ctx)
	if err != nil {
		return nil, err
	}
	var roles []store.Role
	for _, role := range now.roles {
		roles = append(roles, role)
	}
	slices.SortFunc(roles, func(a, b store.Role) int { return strings.Compare(a.Name, b.Name) })
	return roles, nil
}

// Configured are the bindings of the configuration.
func (p *Policy) Configured() []store.Binding { return p.config.Bindings }

// Ask is whom to ask for more rights, in words; may be empty.
func (p *Policy) Ask() string { return p.config.Ask }

// Grant is what a caller may do in a place.
type Grant struct {
	Place              authz.Place
	Roles, Permissions []string
}

// GrantsOf are what a caller may do, by place.
func (p *Policy) GrantsOf(ctx context.Context, identity authz.Identity) ([]Grant, error) {
	given, err := p.grantsOf(ctx, identity.Kind, identity.Subject, identity.Groups)
	if err != nil {
		return nil, err
	}
	places := map[authz.Place]*Grant{}
	add := func(place authz.Place, role string, permissions ...string) {
		if places[place] == nil {
			places[place] = &Grant{Place: place}
		}
		places[place].Roles = append(places[place].Roles, role)
		places[place].Permissions = append(places[place].Permissions, permissions...)
	}
	for _, b := range given.bindings {
		place, permissions := authz.Place{Project: b.Project, Domain: b.Domain}, Expand(given.roles[b.Role])
		if given.owner == nil {
			add(place, b.Role, permissions...)
			continue
		}
		for _, permission := range permissions {
			for _, part := range given.owner.within(permission, place) {
				add(part, b.Role, permission)
			}
		}
	}
	var grants []Grant
	for _, grant := range places {
		slices.Sort(grant.Roles)
		slices.Sort(grant.Permissions)
		grant.Roles, grant.Permissions = slices.Compact(grant.Roles), slices.Compact(grant.Permissions)
		grants = append(grants, *grant)
	}
	slices.SortFunc(grants, func(a, b Grant) int { return comparePlaces(a.Place, b.Place) })
	return grants, nil
}
