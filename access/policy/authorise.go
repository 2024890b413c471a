package policy

import (
	"context"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// own reports whether a permission is about the caller alone, so that a valid credential is enough: who it is, and its own password.
func own(permission string) bool {
	return permission == "identity.view" || permission == "identity.update"
}

// Authorise implements authz.Authoriser.
func (p *Policy) Authorise(ctx context.Context, identity authz.Identity, rule authz.Rule, resource authz.Resource) (authz.Scope, error) {
	switch identity.Kind {
	case authz.User, authz.Key:
	case authz.Task:
		return decideTask(identity, rule, resource)
	default:
		return authz.Scope{}, rpc.Unauthenticated("sign in, or send an API key: this takes the permission %s", rule.Action)
	}
	given, err := p.grantsOf(ctx, identity.Kind, identity.Subject, identity.Groups)
	if err != nil {
		return authz.Scope{}, err
	}
	if rule.Members {
		if !own(rule.Action) && given.none() {
			return authz.Scope{}, authz.Denied("%s has no role in this installation%s", identity.Subject, p.ask())
		}
		return authz.Everything(), nil
	}
	place, reach := authz.Place{Project: resource.Project, Domain: resource.Domain}, given.reach(rule.Action)
	switch {
	case rule.Lists && (place == authz.Place{} || reach.touches(place)):
		return reach.scope, nil
	case !rule.Lists && reach.has(place):
		return authz.Everything(), nil
	case seesPart(rule, resource) && reach.touches(place):
		return authz.Everything(), nil
	case rule.Action == "task.view" && place == builds && !given.none():
		return builder(rule), nil
	case place.Project != "" && !given.reach("project.view").touches(place):
		return authz.Scope{}, authz.Hidden("%s does not exist, or you may not see it%s", words(resource), p.ask())
	default:
		return authz.Scope{}, authz.Denied("%s is not allowed on %s to %s; %s%s%s",
			rule.Action, words(resource), identity.Subject, p.needs(ctx, rule.Action), reach.elsewhere(place), p.ask())
	}
}

// builds is where the installation has the task that builds images, for those who build for a project of their own: its clients look
// for it there. A caller with any role sees the tasks of this place, and nothing else in it.
var builds = authz.Place{Project: "system", Domain: "production"} //nolint:gochecknoglobals // a constant

// builder is the scope of a caller who sees only the tasks of builds. Only lists have a scope.
func builder(rule authz.Rule) authz.Scope {
	if rule.Lists {
		return authz.Scope{Places: []authz.Place{builds}}
	}
	return authz.Everything()
}

// seesPart reports whether a right in a part of the resource is enough: a project is seen by those who see one of its domains.
func seesPart(rule authz.Rule, resource authz.Resource) bool {
	return rule.Action == "project.view" && resource.Kind == "project" && resource.Project != ""
}

// Refusal is the error for a caller who does not have a permission in all of a place: which roles give it, and whom to ask.
func (p *Policy) Refusal(ctx context.Context, permission string, place authz.Place, subject string) error {
	return authz.Denied("%s is not allowed %s to %s; %s%s", permission, In(place), subject, p.needs(ctx, permission), p.ask())
}

// needs says which roles give a permission.
func (p *Policy) needs(ctx context.Context, permission string) string {
	roles := p.rolesWith(ctx, permission)
	if len(roles) == 0 {
		return "no role gives it"
	}
	return "it takes one of the roles " + strings.Join(roles, ", ") + " there"
}

// rolesWith are the names of the roles that give a permission, the smaller ones first.
func (p *Policy) rolesWith(ctx context.Context, permission string) (names []string) {
	now, err := p.current(ctx)
	if err != nil {
		return nil
	}
	for _, level := range levels {
		if gives(now.roles[level.name].Permissions, permission) {
			names = append(names, level.name)
		}
	}
	var own []string
	for name, role := range now.roles {
		if !role.BuiltIn && gives(role.Permissions, permission) {
			own = append(own, name)
		}
	}
	slices.Sort(own)
	return append(names, own...)
}

// ask is the end of a refusal: whom to ask.
func (p *Policy) ask() string {
	if p.config.Ask == "" {
		return ""
	}
	return ". " + p.config.Ask
}
