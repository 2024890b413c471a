package insight

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Index finds objects by name; store.Reader does.
type Index interface {
	Search(ctx context.Context, text string, limit int) ([]store.Found, error)
}

// Searcher finds runs, tasks and projects by a part of their names.
type Searcher struct{ Index Index }

// Search implements insightv1connect.InsightServiceHandler.
func (s *Searcher) Search(ctx context.Context, request *insightv1.SearchRequest) (*insightv1.SearchResponse, error) {
	text := strings.TrimSpace(request.GetQuery())
	if text == "" {
		return nil, rpc.InvalidArgument("query", "has nothing but blanks")
	}
	if strings.ContainsRune(text, 0) {
		return nil, rpc.InvalidArgument("query", "must not contain NUL")
	}
	found, err := s.Index.Search(ctx, text, int(cmp.Or(request.GetLimit(), 8)))
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b store.Found) int { return b.CreatedAt.Compare(a.CreatedAt) })
	response := &insightv1.SearchResponse{Found: make([]*insightv1.Found, 0, len(found))}
	for _, one := range found {
		response.Found = append(response.Found, &insightv1.Found{
			Kind: string(one.Kind), Project: one.Project, Domain: one.Domain, Name: one.Name, Title: one.Title,
			Phase: common.ActionPhase(one.Phase), CreatedAt: timestamppb.New(one.CreatedAt),
		})
	}
	return response, nil
}
