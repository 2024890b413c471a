package mcp

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

type listRunsInput struct {
	place
	Phases []string `json:"phases,omitempty" jsonschema:"only runs in one of these phases: queued, waiting_for_resources, initializing, running, succeeded, failed, aborted, timed_out, paused, recovered"`
	Task   string   `json:"task,omitempty" jsonschema:"only runs of the task of this name, such as environment.function"`
	Since  string   `json:"since,omitempty" jsonschema:"only runs created since this time, in RFC 3339"`
	Limit  int      `json:"limit,omitempty" jsonschema:"how many to return, up to 100; 20 by default"`
	Page   string   `json:"page,omitempty" jsonschema:"the next_page of the answer before"`
}

type listRunsOutput struct {
	Runs     []runOutput `json:"runs"`
	NextPage string      `json:"next_page,omitempty"`
}

type runOutput struct {
	Run       string            `json:"run"`
	Task      string            `json:"task,omitempty"`
	Phase     string            `json:"phase"`
	Created   string            `json:"created"`
	Ended     string            `json:"ended,omitempty"`
	Seconds   float64           `json:"seconds,omitempty"`
	StartedBy string            `json:"started_by,omitempty"`
	Trigger   string            `json:"trigger,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	URL       string            `json:"url,omitempty"`
}

var listRunsTool = reads("list_runs", "Lists the runs of a project and domain, newest first.", listRuns)

func listRuns(ctx context.Context, s *session, in listRunsInput) (out listRunsOutput, err error) {
	request := &common.ListRequest{Limit: bounded(in.Limit, 20, 100), Token: in.Page}
	if request.Filters, err = in.filters(); err != nil {
		return out, err
	}
	answer, err := s.runs.ListRuns(ctx, &workflow.ListRunsRequest{
		Request: request, ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: in.id()},
	})
	if err != nil {
		return out, err
	}
	out.NextPage, out.Runs = answer.GetToken(), []runOutput{}
	for _, run := range answer.GetRuns() {
		out.Runs = append(out.Runs, s.run(run))
	}
	return out, nil
}

func (in listRunsInput) filters() ([]*common.Filter, error) {
	var filters []*common.Filter
	if len(in.Phases) > 0 {
		phases, err := phasesOf("phases", in.Phases)
		if err != nil {
			return nil, err
		}
		filters = append(filters, &common.Filter{Field: "phase", Function: common.Filter_VALUE_IN, Values: phases})
	}
	if in.Task != "" {
		filters = append(filters, &common.Filter{Field: "task_name", Function: common.Filter_EQUAL, Values: []string{in.Task}})
	}
	if in.Since != "" {
		filters = append(filters, &common.Filter{Field: "created_at", Function: common.Filter_GREATER_THAN_OR_EQUAL, Values: []string{in.Since}})
	}
	if in.Project == "" || in.Domain == "" {
		return nil, rpc.InvalidArgument("project", "project and domain are required; list_projects has them")
	}
	return filters, nil
}

func (s *session) run(run *workflow.Run) runOutput {
	action := run.GetAction()
	meta, status := action.GetMetadata(), action.GetStatus()
	return runOutput{
		Run: action.GetId().GetRun().GetName(), Task: title(meta), Phase: phaseName(status.GetPhase()),
		Created: moment(status.GetStartTime()), Ended: moment(status.GetEndTime()), Seconds: seconds(status.GetDurationMs()),
		StartedBy: person(meta.GetExecutedBy()), Trigger: meta.GetTriggerName(), Labels: run.GetLabels(), URL: s.link(action.GetId().GetRun()),
	}
}

// title is what an action does: the name of its task, trace or condition.
func title(meta *workflow.ActionMetadata) string {
	for _, name := range []string{
		meta.GetTask().GetId().GetName(), meta.GetTask().GetShortName(), meta.GetTrace().GetName(), meta.GetCondition().GetName(),
	} {
		if name != "" {
			return name
		}
	}
	return ""
}

func seconds(milliseconds uint64) float64 { return float64(milliseconds) / 1000 }
