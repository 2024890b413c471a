package insight

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

// Index finds objects by name; lists.Reader does.
type Index interface {
	Search(ctx context.Context, text string, limit int) ([]lists.Found, error)
}

// Searcher finds runs, tasks and projects by a part of their names.
type Searcher struct {
	Index Index
	// Tracked finds tracked runs; nil means that there are none.
	Tracked Index
}

// Search implements insightv1connect.InsightServiceHandler.
func (s *Searcher) Search(ctx context.Context, request *insightv1.SearchRequest) (*insightv1.SearchResponse, error) {
	text := strings.TrimSpace(request.GetQuery())
	if text == "" {
		return nil, rpc.InvalidArgument("query", "must not be blank")
	}
	if strings.ContainsRune(text, 0) {
		return nil, rpc.InvalidArgument("query", "must not contain NUL")
	}
	limit := int(cmp.Or(request.GetLimit(), 8))
	found, err := s.search(ctx, s.Index, text, limit, workflow.RunSource_RUN_SOURCE_UNSPECIFIED)
	if err != nil {
		return nil, err
	}
	if s.Tracked != nil {
		tracked, err := s.search(ctx, s.Tracked, text, limit, workflow.RunSource_RUN_SOURCE_TRACKED)
		if err != nil {
			return nil, err
		}
		found = append(found, tracked...)
	}
	slices.SortStableFunc(found, func(a, b hit) int { return b.CreatedAt.Compare(a.CreatedAt) })
	runs := 0
	found = slices.DeleteFunc(found, func(one hit) bool { // the limit is one for runs of both kinds
		if one.Kind == lists.FoundRun {
			runs++
		}
		return one.Kind == lists.FoundRun && runs > limit
	})
	response := &insightv1.SearchResponse{Found: make([]*insightv1.Found, 0, len(found))}
	for _, one := range found {
		response.Found = append(response.Found, &insightv1.Found{
			Kind: string(one.Kind), Project: one.Project, Domain: one.Domain, Name: one.Name, Title: one.Title,
			Phase: common.ActionPhase(one.Phase), CreatedAt: timestamppb.New(one.CreatedAt),
			RunSource: one.source,
		})
	}
	return response, nil
}

// hit is a result, of which source is that of the runs that were searched.
type hit struct {
	lists.Found
	source workflow.RunSource
}

func (*Searcher) search(ctx context.Context, index Index, text string, limit int, source workflow.RunSource) ([]hit, error) {
	found, err := index.Search(ctx, text, limit)
	hits := make([]hit, len(found))
	for i, one := range found {
		hits[i] = hit{Found: one, source: source}
	}
	return hits, err
}
