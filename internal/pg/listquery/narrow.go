package listquery

import (
	"context"
	"fmt"
	"slices"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Narrow adds the condition that rows are within the scope of the call, which limits what its caller may see. An
// unrestricted scope leaves the statement as it is. Otherwise the statement itself is narrowed, so that pages are full and
// counts are right. project and domain are columns; without a domain the rows are projects, of which the caller may see
// those where it may see something.
func Narrow(ctx context.Context, b *Builder, project, domain string) {
	projects, domains, limited := Places(ctx)
	switch {
	case !limited:
	case len(projects) == 0:
		b.Where("false")
	case domain == "" && slices.Contains(projects, ""):
	case domain == "":
		b.Where(project + " = ANY(" + b.Arg(projects, "text[]") + ")")
	case len(projects) == 1 && projects[0] == "":
		b.Equal(domain, domains[0])
	case len(projects) == 1:
		b.Equal(project, projects[0])
		if domains[0] != "" {
			b.Equal(domain, domains[0])
		}
	default:
		// The domains of every project are few and by themselves, so that the places can be joined by their projects.
		everywhere, places := split(projects, domains)
		condition := fmt.Sprintf("EXISTS (SELECT FROM unnest(%s, %s) AS place(project, domain) WHERE place.project = %s AND place.domain IN ('', %s))",
			b.Arg(places.projects, "text[]"), b.Arg(places.domains, "text[]"), project, domain)
		if len(everywhere) > 0 {
			condition = fmt.Sprintf("(%s = ANY(%s) OR %s)", domain, b.Arg(everywhere, "text[]"), condition)
		}
		b.Where(condition)
	}
}

// pairs are places by column.
type pairs struct{ projects, domains []string }

// split separates the domains of every project from the other places.
func split(projects, domains []string) (everywhere []string, places pairs) {
	if !slices.Contains(projects, "") {
		return nil, pairs{projects, domains}
	}
	for i, project := range projects {
		if project == "" {
			everywhere = append(everywhere, domains[i])
			continue
		}
		places.projects, places.domains = append(places.projects, project), append(places.domains, domains[i])
	}
	return everywhere, places
}

// manyPlaces is from how many places on a scope is wide.
const manyPlaces = 1000

// Wide reports whether the scope of the call has very many places or a domain of every project. A list then reads all rows in its
// order and drops those outside; for a narrower scope it reads each place by itself.
func Wide(ctx context.Context) bool {
	projects, _, limited := Places(ctx)
	return limited && (len(projects) >= manyPlaces || slices.Contains(projects, ""))
}

// Everywhere reports whether the scope of the call has a domain of every project, so that its places cannot be enumerated.
func Everywhere(ctx context.Context) bool {
	projects, _, limited := Places(ctx)
	return limited && slices.Contains(projects, "")
}

// Sees reports whether what is in the domain of a project is within the scope of the call; with an empty domain, all of
// the project.
func Sees(ctx context.Context, project, domain string) bool {
	return authz.ScopeFrom(ctx).Allows(project, domain)
}

// Places are the projects and domains of the scope of the call, for statements that read each place by itself; an empty
// domain is all of the project, an empty project the domain of every one. A scope without limits has no places.
func Places(ctx context.Context) (projects, domains []string, limited bool) {
	scope := authz.ScopeFrom(ctx)
	if scope.All {
		return nil, nil, false
	}
	for _, place := range scope.Places {
		projects, domains = append(projects, place.Project), append(domains, place.Domain)
	}
	return projects, domains, true
}
