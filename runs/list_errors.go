package runs

import (
	"context"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/causes"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/view"
)

const (
	defaultErrorGroups = 20
	maxErrorGroups     = 100
	maxFailures        = 200_000 // how many are looked at
	maxErrorMessage    = 8 << 10 // bytes of a group's message
)

// ListErrors implements insightv1connect.InsightServiceHandler. The groups are made anew for each call from the
// beginnings of all errors; what is kept for an answer does not grow with the messages.
func (h *insightHandler) ListErrors(ctx context.Context, request *insightv1.ListErrorsRequest) (*insightv1.ListErrorsResponse, error) {
	limit := int(request.GetLimit())
	switch {
	case limit == 0:
		limit = defaultErrorGroups
	case limit > maxErrorGroups:
		return nil, rpc.InvalidArgument("limit", "is at most %d, got %d", maxErrorGroups, limit)
	}
	birth, err := h.svc.lists.RunBirth(ctx, ident.RunOf(request.GetRunId()))
	if err != nil {
		return nil, err
	}
	groups := causes.New()
	total, err := h.svc.lists.EachFailure(ctx, birth.RunID, maxFailures, func(f store.Failure) { groups.Add(causes.Failure(f)) })
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListErrorsResponse{
		Total: uint32(total), TotalGroups: uint32(groups.Len()), Truncated: groups.Count() < total, //nolint:gosec // counts of actions
	}
	return response, h.svc.fillErrorGroups(ctx, groups.Earliest(limit), response)
}

// fillErrorGroups shows the groups with the whole error of their firsts. An action that is deleted meanwhile takes its
// group with it.
func (s *Service) fillErrorGroups(ctx context.Context, groups []*causes.Group, response *insightv1.ListErrorsResponse) error {
	if len(groups) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(groups))
	for _, group := range groups {
		ids = append(ids, group.First.ID)
	}
	firsts, err := s.lists.Failed(ctx, ids)
	if err != nil {
		return err
	}
	for _, group := range groups {
		first := firsts[group.First.ID]
		if first == nil {
			continue
		}
		info, err := view.Failure(first)
		if err != nil {
			return err
		}
		response.Groups = append(response.Groups, &insightv1.ErrorGroup{
			Code: info.GetCode(), Kind: errorKind(info.GetKind()), Message: cutText(info.GetMessage(), maxErrorMessage),
			Count: uint32(group.Count), FirstAction: group.First.Name, FirstAt: timestamppb.New(group.First.At), //nolint:gosec // a count
			Actions: group.More,
		})
	}
	return nil
}

func errorKind(kind workflow.ErrorInfo_Kind) string {
	switch kind {
	case workflow.ErrorInfo_KIND_USER:
		return "USER"
	case workflow.ErrorInfo_KIND_SYSTEM:
		return "SYSTEM"
	case workflow.ErrorInfo_KIND_UNSPECIFIED:
	}
	return ""
}

// cutText cuts a text between characters.
func cutText(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "")
}
