package insight

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// WaitingReader reads the unfinished runs in which something waits; lists.Reader does.
type WaitingReader interface {
	RunStandingReader
	WaitingRoots(ctx context.Context, scope schema.Scope, limit uint32, token string) (page []lists.WaitingRoot, next string, err error)
}

// WaitingRuns lists the runs that wait.
type WaitingRuns struct {
	Runs  WaitingReader
	Waits *RunWaits
}

// ListWaits implements insightv1connect.InsightServiceHandler.
func (w *WaitingRuns) ListWaits(ctx context.Context, request *insightv1.ListWaitsRequest) (*insightv1.ListWaitsResponse, error) {
	scope := schema.Scope{Project: request.GetProject(), Domain: request.GetDomain()}
	page, next, err := w.Runs.WaitingRoots(ctx, scope, request.GetLimit(), request.GetToken())
	if err != nil {
		return nil, err
	}
	counts := make(map[int64][]int32, len(page))
	for i := range page {
		counts[page[i].ID] = page[i].Counts
	}
	waits, err := w.Waits.Of(ctx, counts)
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListWaitsResponse{Token: next}
	for i := range page {
		of := waits[page[i].ID]
		if len(of.waits) == 0 {
			continue
		}
		run := &insightv1.WaitingRun{
			RunId: page[i].Run.Proto(), Title: page[i].Title, Phase: common.ActionPhase(page[i].Phase), CreatedAt: timestamppb.New(page[i].CreatedAt),
			Waiting: of.waiting, Waits: of.waits,
		}
		if len(page[i].CreatedBy) > 0 {
			run.CreatedBy = &common.EnrichedIdentity{}
			if err := proto.Unmarshal(page[i].CreatedBy, run.GetCreatedBy()); err != nil {
				return nil, rpc.DataLoss(err, "the stored creator of run %s cannot be read", page[i].Run)
			}
		}
		response.Runs = append(response.Runs, run)
	}
	return response, nil
}
