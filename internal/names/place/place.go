// Package place decides whether a project and a domain accept what a request creates in them. The runs service, which keeps
// the projects, and the services that ask it refuse with the same errors.
package place

import (
	"context"
	"slices"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Projects reads projects; projectconnect.ProjectServiceClient does.
type Projects interface {
	GetProject(ctx context.Context, r *project.GetProjectRequest) (*project.GetProjectResponse, error)
}

// Exists returns a NotFound error unless there is a project with the id and it has the domain.
func Exists(ctx context.Context, projects Projects, id, domain string) error {
	_, err := find(ctx, projects, id, domain)
	return err
}

// Accepts returns a NotFound error like Exists, and a FailedPrecondition error when the project is archived. kind is what the
// request creates, such as app.
func Accepts(ctx context.Context, projects Projects, id, domain, kind string) error {
	found, err := find(ctx, projects, id, domain)
	if err != nil {
		return err
	}
	return NotArchived(id, found.GetState(), kind)
}

// NotArchived returns a FailedPrecondition error when a project in this state accepts nothing new.
func NotArchived(id string, state project.ProjectState, kind string) error {
	switch state {
	case project.ProjectState_PROJECT_STATE_ARCHIVED, project.ProjectState_PROJECT_STATE_SYSTEM_ARCHIVED:
		return rpc.FailedPrecondition("cannot create %s: project %s is archived", kind, id)
	default:
		return nil
	}
}

func find(ctx context.Context, projects Projects, id, domain string) (*project.Project, error) {
	answer, err := projects.GetProject(ctx, &project.GetProjectRequest{Id: id})
	if err != nil {
		return nil, err
	}
	found := answer.GetProject()
	domains := found.GetDomains()
	if len(domains) > 0 && !slices.ContainsFunc(domains, func(d *project.Domain) bool { return d.GetId() == domain }) {
		return nil, rpc.NotFound("project %s has no domain %s", id, domain)
	}
	return found, nil
}
