package insight

import (
	"context"
	"errors"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/queries"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// FoldReader folds runs by their triggers; lists.Reader does.
type FoldReader interface {
	RunFolds(ctx context.Context, place schema.Scope, filters []*common.Filter, more func(*listquery.Builder) string) (folds []lists.Fold, complete bool, err error)
}

// Folds folds runs by their triggers.
type Folds struct {
	Runs  FoldReader
	Clock clock.Clock
}

// FoldRuns implements insightv1connect.InsightServiceHandler.
func (f *Folds) FoldRuns(ctx context.Context, request *insightv1.FoldRunsRequest) (*insightv1.FoldRunsResponse, error) {
	place, err := placeOf(request.GetProjectId())
	if err != nil {
		return nil, err
	}
	matches, err := f.matching(ctx, request.GetQuery())
	if err != nil {
		return nil, err
	}
	folds, complete, err := f.Runs.RunFolds(ctx, place, request.GetFilters(), matches)
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

// matching is a query as a condition on the runs; nil for one that takes all.
func (f *Folds) matching(ctx context.Context, text string) (func(*listquery.Builder) string, error) {
	node, err := query.Parse(text)
	var problem *query.SyntaxError
	switch {
	case errors.As(err, &problem):
		return nil, rpc.InvalidArgument("query", "%s", problem.Error())
	case err != nil:
		return nil, err
	case text == "":
		return nil, nil //nolint:nilnil // no condition
	case node.Mentions(query.Input):
		return nil, rpc.InvalidArgument("query", "runs cannot be folded by a query of inputs, which are not in the database")
	}
	ask := queries.Ask{Query: node, Now: f.Clock.Now(), Me: caller.Subject(ctx)}
	return ask.Condition, nil
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
