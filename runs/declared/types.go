package declared

import (
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
)

// Connectors says which connector serves a type of task; enginev1connect.ConnectorRegistryServiceClient does.
type Connectors interface {
	FindConnector(ctx context.Context, r *enginev1.FindConnectorRequest) (*enginev1.FindConnectorResponse, error)
}

// Types says what runs the tasks of a type.
type Types struct {
	// Set are the types that executors and the runs service run. The zero value has those that need no configuration.
	Set tasktype.Set
	// Connectors is asked about all other types; nil means that there are no connectors.
	Connectors Connectors
	// Reported are the types that clusters say that they run, and whether these are all; nil means that clusters say nothing.
	Reported func() (types []string, only bool)
}

// Of returns the types that are served in a project and domain, as far as they concern this task.
func (t Types) Of(ctx context.Context, project, domain string, template *core.TaskTemplate) (tasktype.Set, error) {
	set := t.Set
	if t.Reported != nil {
		if types, only := t.Reported(); only || set.Asks(template) {
			set = set.Reported(types, only)
		}
	}
	if t.Connectors == nil || !set.Asks(template) {
		return set, nil
	}
	answer, err := t.Connectors.FindConnector(ctx, &enginev1.FindConnectorRequest{
		TaskType: template.GetType(), TaskTypeVersion: template.GetTaskTypeVersion(), Project: project, Domain: domain,
	})
	if err != nil {
		return set, err
	}
	return set.With(tasktype.Connected{Connector: answer.GetConnector(), Types: answer.GetTaskTypes(), Silent: answer.GetSilent()}), nil
}
