package mcp

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
)

type listProjectsInput struct {
	Page string `json:"page,omitempty" jsonschema:"the next_page of the answer before"`
}

type listProjectsOutput struct {
	Projects []projectOutput `json:"projects"`
	NextPage string          `json:"next_page,omitempty"`
}

type projectOutput struct {
	Project string   `json:"project"`
	Name    string   `json:"name,omitempty"`
	Domains []string `json:"domains"`
}

var listProjectsTool = reads("list_projects", "Lists the projects that you may see, with their domains.", listProjects)

func listProjects(ctx context.Context, s *session, in listProjectsInput) (out listProjectsOutput, err error) {
	answer, err := s.projects.ListProjects(ctx, &project.ListProjectsRequest{Limit: 100, Token: in.Page})
	if err != nil {
		return out, err
	}
	out.NextPage, out.Projects = answer.GetProjects().GetToken(), []projectOutput{}
	for _, p := range answer.GetProjects().GetProjects() {
		one := projectOutput{Project: p.GetId(), Name: p.GetName()}
		for _, d := range p.GetDomains() {
			one.Domains = append(one.Domains, d.GetId())
		}
		out.Projects = append(out.Projects, one)
	}
	return out, nil
}
