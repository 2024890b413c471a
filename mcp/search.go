package mcp

import (
	"context"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

type searchInput struct {
	Query string `json:"query" jsonschema:"a part of the name of a run, task or project"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many to return, up to 50; 20 by default"`
}

type searchOutput struct {
	Found []foundOutput `json:"found"`
}

type foundOutput struct {
	Kind    string `json:"kind"`
	Project string `json:"project"`
	Domain  string `json:"domain,omitempty"`
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Phase   string `json:"phase,omitempty"`
	Created string `json:"created,omitempty"`
}

var searchTool = reads("search", "Finds runs, tasks and projects by name, in all projects that you may see.", search)

func search(ctx context.Context, s *session, in searchInput) (out searchOutput, err error) {
	answer, err := s.insight.Search(ctx, &insightv1.SearchRequest{Query: in.Query, Limit: bounded(in.Limit, 20, 50)})
	if err != nil {
		return out, err
	}
	out.Found = []foundOutput{}
	for _, f := range answer.GetFound() {
		one := foundOutput{
			Kind: f.GetKind(), Project: f.GetProject(), Domain: f.GetDomain(), Name: f.GetName(), Title: f.GetTitle(), Created: moment(f.GetCreatedAt()),
		}
		if f.GetPhase() != 0 {
			one.Phase = phaseName(f.GetPhase())
		}
		out.Found = append(out.Found, one)
	}
	return out, nil
}
