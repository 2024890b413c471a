package rights

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/store"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// mostGivers bounds the people and groups that are named.
const mostGivers = 20

// ListGivers implements AccessServiceHandler. Every caller may ask, also one without any role: that is who needs to know.
func (h *Handler) ListGivers(ctx context.Context, request *accessv1.ListGiversRequest) (*accessv1.ListGiversResponse, error) {
	permission, place := request.GetPermission(), placeOf(request.GetScope())
	if !slices.Contains(policy.Permissions(), permission) {
		return nil, rpc.InvalidArgument("permission", "there is no permission %q; the roles list all that there are", permission)
	}
	if h.config.Open {
		return &accessv1.ListGiversResponse{}, nil
	}
	visible, err := h.Policy.Touches(ctx, authz.IdentityFrom(ctx), "project.view", place)
	if err != nil {
		return nil, err
	}
	if !visible {
		place.Project = "" // who is named must not tell whether the project exists
	}
	response := &accessv1.ListGiversResponse{Roles: h.Policy.RolesWith(ctx, permission)}
	bindings, err := h.giving(ctx, permission, place)
	if err != nil {
		return nil, err
	}
	givers, err := h.named(ctx, bindings)
	if err != nil {
		return nil, err
	}
	if len(givers) > mostGivers {
		response.More, givers = true, givers[:mostGivers]
	}
	response.Givers = givers
	return response, nil
}

// giving are the bindings whose members may give a permission in a place, as reaching returns them.
func (h *Handler) giving(ctx context.Context, permission string, place authz.Place) (bindings []store.Binding, err error) {
	roles, err := h.Policy.Givers(ctx, permission)
	if err != nil {
		return nil, err
	}
	return h.reaching(ctx, roles, place, mostGivers)
}

// reaching are bindings of people and groups that give some roles in a place, one for each member, with the narrowest scope first. It stops
// soon after the most that are wanted.
func (h *Handler) reaching(ctx context.Context, roles []string, place authz.Place, most int) (bindings []store.Binding, err error) {
	scopes := []authz.Place{place, {Project: place.Project}, {Domain: place.Domain}, {}}
	for i, scope := range scopes {
		if slices.Contains(scopes[:i], scope) || len(bindings) > most {
			continue
		}
		stored, err := h.Store.Giving(ctx, roles, scope.Project, scope.Domain, most+1)
		if err != nil {
			return nil, err
		}
		for _, b := range h.Policy.Configured() {
			if slices.Contains(roles, b.Role) && b.Member.Kind != store.KeyMember && scope == (authz.Place{Project: b.Project, Domain: b.Domain}) {
				stored = append(stored, b)
			}
		}
		for _, b := range stored {
			if !slices.ContainsFunc(bindings, func(other store.Binding) bool { return other.Member == b.Member }) {
				bindings = append(bindings, b)
			}
		}
	}
	return bindings, nil
}

// named are the members of bindings, with the names of people as far as they are known. A group is followed by the local accounts in it.
func (h *Handler) named(ctx context.Context, bindings []store.Binding) (givers []*accessv1.Giver, err error) {
	var subjects, names, groups []string
	for _, b := range bindings {
		if b.Member.Kind == store.GroupMember {
			groups = append(groups, b.Member.Name)
			continue
		}
		subjects = append(subjects, b.Member.Name)
		if name, ok := h.account(b.Member.Name); ok {
			names = append(names, name)
		}
	}
	contacts, err := h.Store.Contacts(ctx, subjects)
	if err != nil {
		return nil, err
	}
	known := map[string]store.Contact{}
	for _, contact := range contacts {
		known[contact.Subject] = contact
	}
	var accounts []store.Account
	if h.config.LocalAccounts {
		if accounts, err = h.Store.AccountsNamed(ctx, names, groups, mostGivers); err != nil {
			return nil, err
		}
	}
	for _, account := range accounts {
		subject := h.config.LocalPrefix + account.Name
		known[subject] = store.Contact{Subject: subject, Name: cmp.Or(account.DisplayName, account.Name), Email: account.Email}
	}
	added := map[store.Member]bool{}
	add := func(member store.Member, scope *accessv1.Scope) {
		if added[member] {
			return
		}
		added[member] = true
		giver := &accessv1.Giver{Member: memberMessage(member), Scope: scope}
		if member.Kind == store.UserMember {
			giver.Name, giver.Email = known[member.Name].Name, known[member.Name].Email
		}
		givers = append(givers, giver)
	}
	for _, b := range bindings {
		scope := scopeOf(authz.Place{Project: b.Project, Domain: b.Domain})
		add(b.Member, scope)
		for _, account := range accounts {
			if b.Member.Kind == store.GroupMember && slices.Contains(account.Groups, b.Member.Name) {
				add(store.Member{Kind: store.UserMember, Name: h.config.LocalPrefix + account.Name}, scope)
			}
		}
	}
	return givers, nil
}

// account is the name of the local account of a subject. No account has a | in its name, so subjects of other sources differ.
func (h *Handler) account(subject string) (name string, ok bool) {
	name, ok = strings.CutPrefix(subject, h.config.LocalPrefix)
	return name, h.config.LocalAccounts && ok && name != "" && !strings.Contains(name, "|")
}
