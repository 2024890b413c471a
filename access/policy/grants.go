package policy

import (
	"slices"
	"sync"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// grants is what a caller has been given.
type grants struct {
	bindings []store.Binding
	roles    map[string]store.Role
	// owner bounds the grants of a key that is not a service's; ownedBy is its subject.
	owner   *grants
	ownedBy string
	reaches sync.Map // of permission to *reach
}

// reach is where a caller has a permission.
type reach struct {
	scope authz.Scope
	// domains of a project, of which an empty one is all; those of the empty project are in every one.
	domains map[string][]string
}

// reach is where the caller has a permission; it is computed once.
func (g *grants) reach(permission string) *reach {
	if known, ok := g.reaches.Load(permission); ok {
		return known.(*reach) //nolint:forcetypeassert // only reaches are stored
	}
	made := reachOf(g.giving(permission))
	if g.owner != nil {
		made = made.and(g.owner.reach(permission))
	}
	g.reaches.Store(permission, made)
	return made
}

// none reports whether the caller has no role at all.
func (g *grants) none() bool { return len(g.bindings) == 0 || g.owner != nil && g.owner.none() }

// within are the parts of a place in which the caller has a permission.
func (g *grants) within(permission string, place authz.Place) []authz.Place {
	return authz.Scope{Places: []authz.Place{place}}.And(g.reach(permission).scope).Places
}

// giving are the bindings that give a permission.
func (g *grants) giving(permission string) (giving []store.Binding) {
	for _, binding := range g.bindings {
		if gives(g.roles[binding.Role].Permissions, permission) {
			giving = append(giving, binding)
		}
	}
	return giving
}

func reachOf(bindings []store.Binding) *reach {
	places := make([]authz.Place, len(bindings))
	for i, binding := range bindings {
		places[i] = authz.Place{Project: binding.Project, Domain: binding.Domain}
	}
	return reachIn(places)
}

func reachIn(places []authz.Place) *reach {
	r := &reach{domains: map[string][]string{}}
	for _, place := range places {
		if place == (authz.Place{}) {
			return &reach{scope: authz.Everything()}
		}
		if domains := r.domains[place.Project]; !slices.Contains(domains, place.Domain) {
			r.domains[place.Project] = append(domains, place.Domain)
		}
	}
	for project, domains := range r.domains {
		if slices.Contains(domains, "") {
			domains = []string{""}
		}
		for _, domain := range domains {
			r.scope.Places = append(r.scope.Places, authz.Place{Project: project, Domain: domain})
		}
	}
	slices.SortFunc(r.scope.Places, comparePlaces)
	return r
}

// and is where both hold.
func (r *reach) and(other *reach) *reach {
	switch {
	case other.scope.All:
		return r
	case r.scope.All:
		return other
	default:
		return reachIn(r.scope.And(other.scope).Places)
	}
}

// has reports whether the permission holds in all of a place: in a domain of a project, in a project without a domain, or
// everywhere.
func (r *reach) has(place authz.Place) bool {
	in := func(project string) bool {
		return slices.ContainsFunc(r.domains[project], func(domain string) bool { return domain == "" || domain == place.Domain })
	}
	return r.scope.All || place.Project != "" && in(place.Project) || place.Domain != "" && in("")
}

// touches reports whether the permission holds in any part of a place.
func (r *reach) touches(place authz.Place) bool {
	if r.scope.All {
		return true
	}
	in := func(domains []string) bool {
		return slices.ContainsFunc(domains, func(domain string) bool {
			return domain == "" || place.Domain == "" || domain == place.Domain
		})
	}
	if place.Project != "" {
		return in(r.domains[place.Project]) || in(r.domains[""])
	}
	for _, domains := range r.domains {
		if in(domains) {
			return true
		}
	}
	return false
}
