package insight

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// SummaryReader reads how far runs are; lists.Reader does.
type SummaryReader interface {
	RunSummaries(ctx context.Context, place schema.Scope, names []string) (runs []lists.RunSummary, usual map[string]lists.Usual, err error)
}

// Summaries says how far runs are.
type Summaries struct {
	Runs  SummaryReader
	Waits *RunWaits
}

// SummarizeRuns implements insightv1connect.InsightServiceHandler.
func (s *Summaries) SummarizeRuns(ctx context.Context, request *insightv1.SummarizeRunsRequest) (*insightv1.SummarizeRunsResponse, error) {
	place, err := placeOf(request.GetProjectId())
	if err != nil {
		return nil, err
	}
	runs, usual, err := s.Runs.RunSummaries(ctx, place, request.GetRuns())
	if err != nil {
		return nil, err
	}
	waiting := map[int64][]int32{}
	for i := range runs {
		if !runs[i].Ended && mayWait(runs[i].Counts) {
			waiting[runs[i].ID] = runs[i].Counts
		}
	}
	waits, err := s.Waits.Of(ctx, waiting)
	if err != nil {
		return nil, err
	}
	response := &insightv1.SummarizeRunsResponse{Runs: make(map[string]*insightv1.RunSummary, len(runs))}
	for i := range runs {
		of := waits[runs[i].ID]
		summary := &insightv1.RunSummary{Counts: countsOf(runs[i].Counts), Waits: of.waits, Waiting: of.waiting}
		if u, known := usual[runs[i].TaskName]; known && !runs[i].Ended {
			summary.Usual = &insightv1.UsualDuration{P50: durationpb.New(u.P50), P90: durationpb.New(u.P90), Runs: uint32(u.Runs)} //nolint:gosec // bounded
		}
		if runs[i].StartedAt != nil {
			summary.StartedAt = timestamppb.New(*runs[i].StartedAt)
		}
		response.Runs[runs[i].Name] = summary
	}
	return response, nil
}

// mayWait reports whether something of a run waits, or whether that is not known.
func mayWait(counts []int32) bool {
	return counts == nil || counts[state.Queued]+counts[state.WaitingForResources]+counts[state.Initializing]+counts[state.Paused] > 0
}

// countsOf leaves out phases without an action.
func countsOf(counts []int32) (found []*insightv1.PhaseCount) {
	for phase, n := range counts {
		if n > 0 {
			found = append(found, &insightv1.PhaseCount{Phase: uint32(phase), Count: uint32(n)})
		}
	}
	return found
}
