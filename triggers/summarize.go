package triggers

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// latestSlots is how many slots of a trigger a list has.
const latestSlots = 5

// SummarizeTriggers implements insightv1connect.TriggerInsightServiceHandler.
func (h *handler) SummarizeTriggers(ctx context.Context, r *insightv1.SummarizeTriggersRequest) (*insightv1.SummarizeTriggersResponse, error) {
	place := r.GetProjectId()
	var tasks, names []string
	for _, key := range r.GetTriggers() {
		tasks, names = append(tasks, key.GetTaskName()), append(names, key.GetName())
	}
	found, err := h.store.Named(ctx, place.GetName(), place.GetDomain(), tasks, names)
	if err != nil {
		return nil, err
	}
	byName := map[[2]string]*store.Trigger{}
	ids := make([]int64, len(found))
	for i := range found {
		byName[[2]string{found[i].Task.Name, found[i].Name}], ids[i] = &found[i], found[i].ID
	}
	latest, err := h.store.Latest(ctx, ids, latestSlots)
	if err != nil {
		return nil, err
	}
	phases, err := h.phasesOf(ctx, place, latest)
	if err != nil {
		return nil, err
	}
	answer := &insightv1.SummarizeTriggersResponse{}
	for _, key := range r.GetTriggers() {
		if t := byName[[2]string{key.GetTaskName(), key.GetName()}]; t != nil {
			answer.Summaries = append(answer.Summaries, h.summary(key, t, latest[t.ID], phases))
		}
	}
	return answer, nil
}

func (h *handler) summary(
	key *insightv1.TriggerKey, t *store.Trigger, latest []store.Fire, phases map[string]common.ActionPhase,
) *insightv1.TriggerSummary {
	summary := &insightv1.TriggerSummary{Trigger: key}
	// One that cannot be read cannot be scheduled; ExplainTrigger says why.
	if d, err := h.planner.decode(t); err == nil && d.silence(t.Switched != nil && !*t.Switched) == "" && d.schedule != nil {
		summary.Next = timestamppb.New(*d.NextSlot)
	}
	for i := range latest {
		outcome := &insightv1.SlotOutcome{Slot: slotMessage(t, &latest[i])}
		if latest[i].State == store.Started {
			outcome.Phase = phases[latest[i].RunName]
		}
		summary.Latest = append(summary.Latest, outcome)
	}
	return summary
}

// phasesOf are the phases of the runs of slots, as far as the caller may see the runs.
func (h *handler) phasesOf(ctx context.Context, place *common.ProjectIdentifier, latest map[int64][]store.Fire) (map[string]common.ActionPhase, error) {
	var names []string
	for _, slots := range latest {
		for i := range slots {
			if slots[i].State == store.Started {
				names = append(names, slots[i].RunName)
			}
		}
	}
	phases := map[string]common.ActionPhase{}
	if len(names) == 0 {
		return phases, nil
	}
	answer, err := h.runs.ListRuns(ctx, &workflow.ListRunsRequest{
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: place},
		Request: &common.ListRequest{
			Limit:   uint32(len(names)), //nolint:gosec // at most 500
			Filters: []*common.Filter{{Field: "name", Function: common.Filter_VALUE_IN, Values: names}},
		},
	})
	if rpc.IsNotFound(err) || rpc.KindOf(err) == rpc.KindPermissionDenied {
		return phases, nil // the triggers may be seen, and their runs may not
	}
	if err != nil {
		return nil, err
	}
	for _, run := range answer.GetRuns() {
		phases[run.GetAction().GetId().GetRun().GetName()] = run.GetAction().GetStatus().GetPhase()
	}
	return phases, nil
}
