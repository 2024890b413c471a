package listquery

import (
	"context"
	"fmt"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Narrow adds the condition that rows are within the scope of the call, which limits what its caller may see. An
// unrestricted scope leaves the statement as it is. Otherwise the statement itself is narrowed, so that pages are full and
// counts are right. project and domain are columns.
func Narrow(ctx context.Context, b *Builder, project, domain string) {
	scope := authz.ScopeFrom(ctx)
	switch {
	case scope.All:
		return
	case len(scope.Places) == 0:
		b.Where("false")
		return
	case len(scope.Places) == 1:
		b.Equal(project, scope.Places[0].Project)
		if scope.Places[0].Domain != "" {
			b.Equal(domain, scope.Places[0].Domain)
		}
		return
	}
	var projects, domains []string
	for _, place := range scope.Places {
		projects, domains = append(projects, place.Project), append(domains, place.Domain)
	}
	b.Where(fmt.Sprintf("EXISTS (SELECT FROM unnest(%s, %s) AS place(project, domain) WHERE place.project = %s AND place.domain IN ('', %s))",
		b.Arg(projects, "text[]"), b.Arg(domains, "text[]"), project, domain))
}
