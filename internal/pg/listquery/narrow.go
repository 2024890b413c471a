package listquery

import (
	"context"
	"fmt"

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
	case domain == "":
		b.Where(project + " = ANY(" + b.Arg(projects, "text[]") + ")")
	case len(projects) == 1:
		b.Equal(project, projects[0])
		if domains[0] != "" {
			b.Equal(domain, domains[0])
		}
	default:
		b.Where(fmt.Sprintf("EXISTS (SELECT FROM unnest(%s, %s) AS place(project, domain) WHERE place.project = %s AND place.domain IN ('', %s))",
			b.Arg(projects, "text[]"), b.Arg(domains, "text[]"), project, domain))
	}
}

// Sees reports whether what is in the domain of a project is within the scope of the call; with an empty domain, all of
// the project.
func Sees(ctx context.Context, project, domain string) bool {
	return authz.ScopeFrom(ctx).Allows(project, domain)
}

// Places are the projects and domains of the scope of the call, for statements that read each place by itself; an empty
// domain is all of the project. A scope without limits has no places.
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
