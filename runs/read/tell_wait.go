package read

import (
	"context"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Waits explains why an action waits; insight.Waits does.
type Waits interface {
	// Of returns nil for an action that does not wait.
	Of(ctx context.Context, standing *lists.Standing) (*insightv1.Wait, error)
}

// tellWait adds, to the details of a queued action that waits for its admission, a worker or a connector, why it waits, as an event of its
// attempt. Nothing of that is stored.
func (d *Details) tellWait(ctx context.Context, a *schema.Action, details *workflow.ActionDetails) error {
	if a.Phase != state.Queued || workflow.ActionType(a.ActionType) != workflow.ActionType_ACTION_TYPE_TASK || len(details.GetAttempts()) == 0 {
		return nil
	}
	standing, err := d.Rows.Standing(ctx, ident.Action{Run: ident.Run{Project: a.Project, Domain: a.Domain, Name: a.RunName}, Name: a.Name})
	if err != nil || standing.Phase != state.Queued || standing.AdmittedAt != nil && !standing.Runner.Explained() {
		return err
	}
	w, err := d.Waits.Of(ctx, standing)
	if err != nil || w == nil {
		return err
	}
	source := "admission"
	switch {
	case standing.AdmittedAt == nil:
	case standing.Runner == schema.RunnerConnector:
		source = "connectors"
	default:
		source = "workers"
	}
	newest := details.GetAttempts()[len(details.GetAttempts())-1]
	newest.ClusterEvents = append(newest.ClusterEvents, &workflow.ClusterEvent{
		OccurredAt: w.GetSince(), Message: "waits: " + w.GetMessage(), Reason: "Queued", SourceComponent: source,
		Type: workflow.ClusterEvent_TYPE_NORMAL, Count: 1,
	})
	return nil
}
