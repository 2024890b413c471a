package insight

import (
	"context"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// FoldReader folds runs by their triggers; lists.Reader does.
type FoldReader interface {
	RunFolds(ctx context.Context, place schema.Scope, filters []*common.Filter) (folds []lists.Fold, complete bool, err error)
}

// Folds folds runs by their triggers.
type Folds struct{ Runs FoldReader }

// FoldRuns implements insightv1connect.InsightServiceHandler.
func (f *Folds) FoldRuns(ctx context.Context, request *insightv1.FoldRunsRequest) (*insightv1.FoldRunsResponse, error) {
	place, err := placeOf(request.GetProjectId())
	if err != nil {
		return nil, err
	}
	folds, complete, err := f.Runs.RunFolds(ctx, place, request.GetFilters())
	if err != nil {
		return nil, err
	}
	response := &insightv1.FoldRunsResponse{Incomplete: !complete}
	for i := range folds {
		latest := &folds[i].Latest
		run, err := protomap.Run(&latest.Action, latest.Labels)
		if err != nil {
			return nil, err
		}
		response.Folds = append(response.Folds, &insightv1.RunFold{
			Trigger: &common.TriggerName{Project: latest.Project, Domain: latest.Domain, Name: latest.TriggerName, TaskName: latest.TriggerTaskName},
			Latest:  run, Counts: countsOf(folds[i].Counts), Older: folds[i].Older,
		})
	}
	return response, nil
}

// placeOf is a project and a domain; both are required.
func placeOf(id *common.ProjectIdentifier) (schema.Scope, error) {
	switch {
	case id.GetName() == "":
		return schema.Scope{}, rpc.InvalidArgument("project_id.name", "is required")
	case id.GetDomain() == "":
		return schema.Scope{}, rpc.InvalidArgument("project_id.domain", "is required")
	}
	return schema.Scope{Project: id.GetName(), Domain: id.GetDomain()}, nil
}
