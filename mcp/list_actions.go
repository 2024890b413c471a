package mcp

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

type listActionsInput struct {
	runName
	Phases []string `json:"phases,omitempty" jsonschema:"only actions in one of these phases, such as failed"`
	Parent string   `json:"parent,omitempty" jsonschema:"only the children of this action"`
	Limit  int      `json:"limit,omitempty" jsonschema:"how many to return, up to 200; 50 by default"`
	Page   string   `json:"page,omitempty" jsonschema:"the next_page of the answer before"`
}

type listActionsOutput struct {
	Actions  []actionOutput `json:"actions"`
	NextPage string         `json:"next_page,omitempty"`
}

type actionOutput struct {
	Action   string  `json:"action"`
	Title    string  `json:"title,omitempty"`
	Parent   string  `json:"parent,omitempty"`
	Group    string  `json:"group,omitempty"`
	Phase    string  `json:"phase"`
	Attempts uint32  `json:"attempts,omitempty"`
	Created  string  `json:"created"`
	Seconds  float64 `json:"seconds,omitempty"`
	Cached   bool    `json:"cached,omitempty"`
}

var listActionsTool = reads("list_actions", "Lists the actions of a run: its own task, a0, and every task that it called.", listActions)

func listActions(ctx context.Context, s *session, in listActionsInput) (out listActionsOutput, err error) {
	request := &common.ListRequest{Limit: bounded(in.Limit, 50, 200), Token: in.Page}
	if len(in.Phases) > 0 {
		phases, err := phasesOf("phases", in.Phases)
		if err != nil {
			return out, err
		}
		request.Filters = append(request.Filters, &common.Filter{Field: "phase", Function: common.Filter_VALUE_IN, Values: phases})
	}
	if in.Parent != "" {
		request.Filters = append(request.Filters, &common.Filter{Field: "parent_name", Function: common.Filter_EQUAL, Values: []string{in.Parent}})
	}
	answer, err := s.runs.ListActions(ctx, &workflow.ListActionsRequest{Request: request, RunId: in.id()})
	if err != nil {
		return out, err
	}
	out.NextPage, out.Actions = answer.GetToken(), []actionOutput{}
	for _, a := range answer.GetActions() {
		meta, status := a.GetMetadata(), a.GetStatus()
		out.Actions = append(out.Actions, actionOutput{
			Action: a.GetId().GetName(), Title: title(meta), Parent: meta.GetParent(), Group: meta.GetGroup(), Phase: phaseName(status.GetPhase()),
			Attempts: status.GetAttempts(), Created: moment(status.GetStartTime()), Seconds: seconds(status.GetDurationMs()),
			Cached: status.GetCacheStatus() == core.CatalogCacheStatus_CACHE_HIT,
		})
	}
	return out, nil
}
