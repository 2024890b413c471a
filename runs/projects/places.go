package projects

import (
	"context"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/internal/names/place"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// Getter reads one project, or returns a NotFound error; catalog.Projects does.
type Getter interface {
	Get(ctx context.Context, id string) (catalog.Project, error)
}

// Places knows which projects and domains exist.
type Places struct {
	projects Getter
	domains  []string
}

// NewPlaces returns the places of an installation with these domains.
func NewPlaces(projects Getter, domains []string) *Places {
	return &Places{projects: projects, domains: domains}
}

// Check returns the project. It returns a NotFound error, with the name of the request's field, when the project or the
// domain does not exist.
func (p *Places) Check(ctx context.Context, field, id, domain string) (catalog.Project, error) {
	if err := p.CheckDomain(field, domain); err != nil {
		return catalog.Project{}, err
	}
	return p.projects.Get(ctx, id)
}

// AcceptsRuns returns an error like Check, and a FailedPrecondition error when the project is archived.
func (p *Places) AcceptsRuns(ctx context.Context, field, id, domain string) error {
	found, err := p.Check(ctx, field, id, domain)
	if err != nil {
		return err
	}
	return place.NotArchived(id, project.ProjectState(found.State), "run")
}

// CheckDomain returns a NotFound error when the domain does not exist.
func (p *Places) CheckDomain(field, domain string) error {
	if !slices.Contains(p.domains, domain) {
		return rpc.NotFound("%s.domain: domain %q does not exist; there are %s", field, domain, strings.Join(p.domains, ", "))
	}
	return nil
}
