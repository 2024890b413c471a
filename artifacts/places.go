package artifacts

import (
	"context"
	"slices"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// places says which projects and domains exist.
type places struct{ projects Projects }

// check refuses places that do not exist. An archived project takes no new versions but those of runs that it let run.
func (p places) check(ctx context.Context, name *artifact.ArtifactName, open bool) error {
	id, domain := name.GetProject(), name.GetDomain()
	response, err := p.projects.GetProject(ctx, &project.GetProjectRequest{Id: id})
	if err != nil {
		return err
	}
	domains := response.GetProject().GetDomains()
	if len(domains) > 0 && !slices.ContainsFunc(domains, func(d *project.Domain) bool { return d.GetId() == domain }) {
		return rpc.NotFound("project %s has no domain %s", id, domain)
	}
	if !open {
		return nil
	}
	switch response.GetProject().GetState() {
	case project.ProjectState_PROJECT_STATE_ARCHIVED, project.ProjectState_PROJECT_STATE_SYSTEM_ARCHIVED:
		return rpc.FailedPrecondition("cannot create artifact version: project %s is archived", id)
	default:
		return nil
	}
}
