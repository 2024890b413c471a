package mcp

import (
	"context"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

type explainWaitOutput struct {
	Phase    string `json:"phase"`
	Reason   string `json:"reason,omitempty" jsonschema:"why the action waits; empty if it does not"`
	Since    string `json:"since,omitempty"`
	Queue    string `json:"queue,omitempty"`
	Ahead    int64  `json:"ahead,omitempty" jsonschema:"how many actions go before it in its queue"`
	Limit    int64  `json:"limit,omitempty"`
	Used     int64  `json:"used,omitempty"`
	Behind   string `json:"behind,omitempty" jsonschema:"the action that it waits for, as run/action"`
	Resource string `json:"resource,omitempty" jsonschema:"the resource that no cluster has enough of"`
	Cluster  string `json:"cluster,omitempty"`
	Placed   string `json:"placed,omitempty" jsonschema:"why it runs on that cluster"`
	Cache    string `json:"cache,omitempty" jsonschema:"what the cache did"`
}

var explainWaitTool = reads("explain_wait", "Explains what an action waits for: a limit, a queue, resources, a person, a retry.", explainWait)

func explainWait(ctx context.Context, s *session, in actionName) (out explainWaitOutput, err error) {
	answer, err := s.insight.ExplainAction(ctx, &insightv1.ExplainActionRequest{ActionId: in.id()})
	if err != nil {
		return out, err
	}
	wait := answer.GetWait()
	out = explainWaitOutput{
		Phase: phaseName(answer.GetPhase()), Reason: wait.GetMessage(), Since: moment(wait.GetSince()), Queue: wait.GetQueue(), Ahead: wait.GetAhead(),
		Limit: wait.GetLimit(), Used: wait.GetUsed(), Resource: wait.GetResource(), Cluster: answer.GetPlacement().GetCluster(),
		Placed: answer.GetPlacement().GetReason(), Cache: answer.GetCache().GetReason(),
	}
	if behind := wait.GetBehind(); behind != nil {
		out.Behind = behind.GetRun().GetName() + "/" + behind.GetName()
	}
	return out, nil
}
