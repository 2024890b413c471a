package rights

import (
	"cmp"
	"context"
	"slices"

	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/store"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// mostHolders bounds the people who are named, and how many are looked at.
const mostHolders = 50

// ListHolders implements AccessServiceHandler. Who is named is decided as a call of that person would be.
func (h *Handler) ListHolders(ctx context.Context, request *accessv1.ListHoldersRequest) (*accessv1.ListHoldersResponse, error) {
	permission, place := request.GetPermission(), placeOf(request.GetScope())
	switch {
	case !slices.Contains(policy.Permissions(), permission):
		return nil, rpc.InvalidArgument("permission", "there is no permission %q; the roles list all that there are", permission)
	case place.Project == "" || place.Domain == "":
		return nil, rpc.InvalidArgument("scope", "a project and a domain are required")
	case h.config.Open:
		return &accessv1.ListHoldersResponse{Open: true}, nil
	}
	candidates, err := h.candidates(ctx, request.GetSubject(), permission, place)
	if err != nil {
		return nil, err
	}
	response := &accessv1.ListHoldersResponse{}
	for _, one := range candidates {
		explained, err := h.Policy.Explain(ctx, store.Member{Kind: store.UserMember, Name: one.Subject}, one.Groups, permission, place)
		if err != nil {
			return nil, err
		}
		if explained.Allowed {
			response.Holders = append(response.Holders, &accessv1.Holder{Subject: one.Subject, Name: one.Name, Email: one.Email})
		}
	}
	slices.SortFunc(response.GetHolders(), func(a, b *accessv1.Holder) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetSubject(), b.GetSubject()))
	})
	if len(response.GetHolders()) > mostHolders {
		response.More, response.Holders = true, response.GetHolders()[:mostHolders]
	}
	return response, nil
}

// candidates are people who may have a permission in a place, with the groups that they are known to have: only one of them, or those whom
// bindings of that place reach.
func (h *Handler) candidates(ctx context.Context, subject, permission string, place authz.Place) ([]store.Contact, error) {
	var subjects, groups []string
	if subject != "" {
		subjects = []string{subject}
	} else {
		bindings, err := h.reaching(ctx, h.Policy.RolesWith(ctx, permission), place, mostHolders)
		if err != nil {
			return nil, err
		}
		for _, b := range bindings {
			if b.Member.Kind == store.GroupMember {
				groups = append(groups, b.Member.Name)
			} else {
				subjects = append(subjects, b.Member.Name)
			}
		}
	}
	known, err := h.Store.People(ctx, subjects, groups, mostHolders+1)
	if err != nil {
		return nil, err
	}
	local, err := h.localPeople(ctx, subjects, groups)
	if err != nil {
		return nil, err
	}
	// What an account says now counts more than what it said at sign-in.
	found := local
	add := func(one store.Contact) {
		if !slices.ContainsFunc(found, func(other store.Contact) bool { return other.Subject == one.Subject }) {
			found = append(found, one)
		}
	}
	for _, one := range known {
		add(one)
	}
	for _, one := range subjects {
		if _, account := h.account(one); !account { // an account that was removed may do nothing
			add(store.Contact{Subject: one})
		}
	}
	return found, nil
}

// localPeople are the local accounts with some subjects or in some groups.
func (h *Handler) localPeople(ctx context.Context, subjects, groups []string) (found []store.Contact, err error) {
	if !h.config.LocalAccounts {
		return nil, nil
	}
	var names []string
	for _, subject := range subjects {
		if name, ok := h.account(subject); ok {
			names = append(names, name)
		}
	}
	accounts, err := h.Store.AccountsNamed(ctx, names, groups, mostHolders+1)
	if err != nil {
		return nil, err
	}
	for _, account := range accounts {
		found = append(found, store.Contact{
			Subject: h.config.LocalPrefix + account.Name, Name: cmp.Or(account.DisplayName, account.Name), Email: account.Email, Groups: account.Groups,
		})
	}
	return found, nil
}
