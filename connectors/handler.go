package connectors

import (
	"context"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
)

// handler serves ConnectorRegistryService.
type handler struct {
	store    *store.Store
	registry *registry
}

// FindConnector implements enginev1connect.ConnectorRegistryServiceHandler.
func (h *handler) FindConnector(ctx context.Context, r *enginev1.FindConnectorRequest) (*enginev1.FindConnectorResponse, error) {
	name, err := h.store.Find(ctx, store.Type{Name: r.GetTaskType(), Version: r.GetTaskTypeVersion()}, r.GetProject(), r.GetDomain())
	if err != nil || name != "" {
		return &enginev1.FindConnectorResponse{Connector: name}, err
	}
	all, err := h.store.States(ctx)
	if err != nil {
		return nil, err
	}
	answer := &enginev1.FindConnectorResponse{}
	for i := range all {
		if all[i].Project != "" && (all[i].Project != r.GetProject() || all[i].Domain != r.GetDomain()) {
			continue
		}
		answer.TaskTypes = append(answer.GetTaskTypes(), all[i].Types...)
		if all[i].AnsweredAt == nil {
			answer.Silent = append(answer.Silent, all[i].Name)
		}
	}
	slices.Sort(answer.GetTaskTypes())
	answer.TaskTypes = slices.Compact(answer.GetTaskTypes())
	return answer, nil
}

// ExplainConnectorWait implements enginev1connect.ConnectorRegistryServiceHandler.
func (h *handler) ExplainConnectorWait(ctx context.Context, r *enginev1.ExplainConnectorWaitRequest) (*enginev1.ExplainConnectorWaitResponse, error) {
	standing, err := h.store.Standing(ctx, r.GetUid())
	if err != nil {
		return nil, err
	}
	if standing == nil {
		return nil, rpc.NotFound("no connector has the action %d", r.GetUid())
	}
	says := words(standing)
	return &enginev1.ExplainConnectorWaitResponse{Message: sentence.English(says...), Sentences: sentence.Parts(says...)}, nil
}

// words say how far a job is.
func words(at *store.Standing) (says []sentence.Sentence) {
	j, c := &at.Job, &at.Connector
	switch {
	case j.Connector == "":
		return append(says, sentence.New("no connector serves tasks of type %q now", j.TaskType))
	case c.Name == "":
		return append(says, sentence.New("the connector %s has the job, and it is no longer configured", j.Connector))
	case j.Stage == store.Waiting && j.Problem == "" && c.Problem == "":
		return append(says, sentence.New("the connector %s is about to start the job; it has %d jobs, and %d wait", j.Connector, c.Jobs, c.Waiting))
	case j.Stage < store.Created && j.Problem == "":
		says = append(says, sentence.New("the connector %s has not started the job", j.Connector))
	case j.Stage < store.Created:
		says = append(says, sentence.New("the connector %s has not started the job: %s", j.Connector, j.Problem))
	case j.Problem == "":
		says = append(says, sentence.New("the connector %s has the job", j.Connector))
	default:
		says = append(says, sentence.New("the connector %s has the job: %s", j.Connector, j.Problem))
	}
	if c.Problem != "" {
		says = append(says, sentence.New("the connector does not answer: %s", c.Problem))
		if c.AnsweredAt != nil {
			says = append(says, sentence.New("its last answer came at %s", c.AnsweredAt.UTC().Format(time.RFC3339)))
		}
	}
	return says
}
