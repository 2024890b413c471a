package dataproxy

import (
	"context"
	"slices"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// checkScope checks that the project and the domain of an upload exist. The fields are those of the request.
func (s *Service) checkScope(ctx context.Context, projectField, projectID, domainField, domain string) error {
	if err := checkSegment(projectField, projectID); err != nil {
		return err
	}
	if err := checkSegment(domainField, domain); err != nil {
		return err
	}
	response, err := s.deps.Projects.GetProject(ctx, &project.GetProjectRequest{Id: projectID})
	if err != nil {
		return err
	}
	domains := response.GetProject().GetDomains()
	if len(domains) > 0 && !slices.ContainsFunc(domains, func(d *project.Domain) bool { return d.GetId() == domain }) {
		return rpc.NotFound("project %s has no domain %s", projectID, domain)
	}
	return nil
}
