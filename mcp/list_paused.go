package mcp

import (
	"context"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

type listPausedInput struct {
	Project string `json:"project,omitempty" jsonschema:"only those of this project"`
	Domain  string `json:"domain,omitempty" jsonschema:"only those of this domain"`
	Page    string `json:"page,omitempty" jsonschema:"the next_page of the answer before"`
}

type listPausedOutput struct {
	Conditions []conditionOutput `json:"conditions"`
	Total      uint32            `json:"total"`
	NextPage   string            `json:"next_page,omitempty"`
}

type conditionOutput struct {
	Project   string `json:"project"`
	Domain    string `json:"domain"`
	Run       string `json:"run"`
	Action    string `json:"action"`
	Condition string `json:"condition"`
	Prompt    string `json:"prompt,omitempty"`
	Answer    string `json:"answer" jsonschema:"the type of the answer: boolean, integer, float or string"`
	Since     string `json:"since,omitempty"`
	Until     string `json:"until,omitempty" jsonschema:"when the condition times out"`
	URL       string `json:"url,omitempty"`
}

var listPausedTool = reads("list_paused", "Lists the conditions that wait for a person's answer, in all projects that you may see.", listPaused)

func listPaused(ctx context.Context, s *session, in listPausedInput) (out listPausedOutput, err error) {
	answer, err := s.insight.ListPausedActions(ctx, &insightv1.ListPausedActionsRequest{Project: in.Project, Domain: in.Domain, Limit: 50, Token: in.Page})
	if err != nil {
		return out, err
	}
	out.Total, out.NextPage, out.Conditions = answer.GetTotal(), answer.GetToken(), []conditionOutput{}
	for _, a := range answer.GetActions() {
		id, condition := a.GetActionId(), a.GetCondition()
		out.Conditions = append(out.Conditions, conditionOutput{
			Project: id.GetRun().GetProject(), Domain: id.GetRun().GetDomain(), Run: id.GetRun().GetName(), Action: id.GetName(),
			Condition: condition.GetName(), Prompt: condition.GetPrompt(), Answer: answerType(condition.GetType()),
			Since: moment(a.GetSince()), Until: moment(a.GetUntil()), URL: s.link(id.GetRun()),
		})
	}
	return out, nil
}
