package authz

import (
	"context"
	"slices"
	"sync/atomic"
)

// Place is a project and one of its domains. Without a domain it is all of them; without a project it is the domain of every
// project.
type Place struct{ Project, Domain string }

// Has reports whether the domain of a project is in the place. With an empty domain it asks for all of the project.
func (p Place) Has(project, domain string) bool {
	return (p.Project == "" || p.Project == project) && (p.Domain == "" || p.Domain == domain)
}

// and is what is in both places, and whether there is any.
func (p Place) and(other Place) (Place, bool) {
	project, some := both(p.Project, other.Project)
	domain, more := both(p.Domain, other.Domain)
	return Place{project, domain}, some && more
}

// both is the name that two names allow, of which an empty one allows all.
func both(a, b string) (string, bool) {
	switch {
	case a == "":
		return b, true
	case b == "" || a == b:
		return a, true
	default:
		return "", false
	}
}

// Scope says how much of what a list ranges over its caller may see. The zero value is nothing at all.
type Scope struct {
	// All means no restriction; Places is then ignored.
	All bool
	// Places are the projects and domains that the caller may see.
	Places []Place
}

// Everything is the scope without a restriction.
func Everything() Scope { return Scope{All: true} }

// Allows reports whether something in the domain of a project is within the scope. With an empty domain it asks for
// all of the project.
func (s Scope) Allows(project, domain string) bool {
	return s.All || slices.ContainsFunc(s.Places, func(p Place) bool { return p.Has(project, domain) })
}

// Equal reports whether two scopes name the same places in the same order.
func (s Scope) Equal(other Scope) bool {
	return s.All == other.All && (s.All || slices.Equal(s.Places, other.Places))
}

// Touches reports whether anything of a project lies within the scope.
func (s Scope) Touches(project string) bool {
	return s.All || slices.ContainsFunc(s.Places, func(p Place) bool { return p.Project == "" || p.Project == project })
}

// And is what is within both scopes.
func (s Scope) And(other Scope) Scope {
	if s.All {
		return other
	}
	if other.All || s.Equal(other) {
		return s
	}
	var common Scope
	for _, a := range s.Places {
		for _, b := range other.Places {
			if place, some := a.and(b); some {
				common.Places = append(common.Places, place)
			}
		}
	}
	return common
}

type scopeKey struct{}

// Cell holds the scope of a call. A stream's context exists before its first message, which decides the scope.
type Cell struct{ scope atomic.Pointer[Scope] }

// Set replaces the scope.
func (c *Cell) Set(scope Scope) { c.scope.Store(&scope) }

// Decided reports whether there is a scope yet.
func (c *Cell) Decided() bool { return c.scope.Load() != nil }

// WithCell gives ctx a scope that is decided later. Until then it is nothing.
func WithCell(ctx context.Context, cell *Cell) context.Context {
	return context.WithValue(ctx, scopeKey{}, cell)
}

// WithScope gives ctx a scope, as the chain does for each call once it is authorized.
func WithScope(ctx context.Context, scope Scope) context.Context {
	cell := &Cell{}
	cell.Set(scope)
	return WithCell(ctx, cell)
}

// ScopeFrom is what the lists of the call to which ctx belongs may show. Outside of calls, as in the loops of the
// process, it is everything; in a stream that has not received its request yet it is nothing.
func ScopeFrom(ctx context.Context) Scope {
	cell, ok := ctx.Value(scopeKey{}).(*Cell)
	if !ok {
		return Everything()
	}
	if scope := cell.scope.Load(); scope != nil {
		return *scope
	}
	return Scope{}
}
