package insight

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/errorgroup"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	defaultErrorGroups = 20
	maxErrorGroups     = 100
	maxFailures        = 200_000 // how many are looked at
	maxErrorMessage    = 8 << 10 // bytes of a group's message
)

// FailureReader reads the errors of a run; lists.Reader does.
type FailureReader interface {
	BirthReader
	EachFailure(ctx context.Context, runID int64, limit int, take func(lists.Failure)) (total int, err error)
	Failed(ctx context.Context, ids []int64) (map[int64]*schema.Action, error)
}

// BirthReader finds a run by its name; lists.Reader does.
type BirthReader interface {
	RunBirth(ctx context.Context, run ident.Run) (lists.RunBirth, error)
}

// Errors groups the errors of a run by their cause.
type Errors struct{ Failures FailureReader }

// ListErrors implements insightv1connect.InsightServiceHandler. Each call computes the groups again from the
// beginnings of all errors; the memory it uses does not grow with the messages.
func (e *Errors) ListErrors(ctx context.Context, request *insightv1.ListErrorsRequest) (*insightv1.ListErrorsResponse, error) {
	limit := int(request.GetLimit())
	switch {
	case limit == 0:
		limit = defaultErrorGroups
	case limit > maxErrorGroups:
		return nil, rpc.InvalidArgument("limit", "must be at most %d, got %d", maxErrorGroups, limit)
	}
	birth, err := e.Failures.RunBirth(ctx, ident.RunOf(request.GetRunId()))
	if err != nil {
		return nil, err
	}
	collector := errorgroup.New()
	total, err := e.Failures.EachFailure(ctx, birth.RunID, maxFailures, func(f lists.Failure) { collector.Add(errorgroup.Failure(f)) })
	if err != nil {
		return nil, err
	}
	groups := collector.Groups()
	response := &insightv1.ListErrorsResponse{
		Inherited: uint32(groups.Inherited()),                                                          //nolint:gosec // a count of actions
		Total:     uint32(total), TotalGroups: uint32(groups.Len()), Truncated: groups.Count() < total, //nolint:gosec // counts of actions
	}
	return response, e.fill(ctx, groups.Earliest(limit), response)
}

// fill adds the complete error of each group's first action. An action that was deleted in the meantime takes its
// group with it.
func (e *Errors) fill(ctx context.Context, groups []*errorgroup.Group, response *insightv1.ListErrorsResponse) error {
	if len(groups) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(groups))
	for _, group := range groups {
		ids = append(ids, group.First.ID)
	}
	firsts, err := e.Failures.Failed(ctx, ids)
	if err != nil {
		return err
	}
	for _, group := range groups {
		first := firsts[group.First.ID]
		if first == nil {
			continue
		}
		info, err := protomap.Failure(first)
		if err != nil {
			return err
		}
		response.Groups = append(response.Groups, &insightv1.ErrorGroup{
			Code: info.GetCode(), Kind: errorKind(info.GetKind()), Message: clip.Head(info.GetMessage(), maxErrorMessage),
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
