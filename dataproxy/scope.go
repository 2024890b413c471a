package dataproxy

import (
	"context"

	"github.com/flyte-binary/flyte-binary/internal/names/place"
)

// checkScope checks that the project and the domain of an upload exist. The fields are those of the request.
func (s *Service) checkScope(ctx context.Context, projectField, projectID, domainField, domain string) error {
	if err := checkSegment(projectField, projectID); err != nil {
		return err
	}
	if err := checkSegment(domainField, domain); err != nil {
		return err
	}
	return place.Exists(ctx, s.deps.Projects, projectID, domain)
}
