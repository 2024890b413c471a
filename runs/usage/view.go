package usage

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/usages"
)

// Measured reads what is kept of attempts; usages.Store does.
type Measured interface {
	Attempts(ctx context.Context, id ident.Action) (by schema.Runner, all []usages.Measured, err error)
	OfTask(ctx context.Context, task usages.Task, actions int) ([]usages.Measured, error)
}

// Viewer answers GetAttemptUsage and SuggestResources of InsightService.
type Viewer struct{ Store Measured }

// unmeasured is said of attempts without measurements, by who runs them.
func unmeasured(by schema.Runner) string {
	switch by {
	case schema.RunnerPool:
		return "Attempts in reusable environments are not measured: a worker runs several of them in one container, and nodes measure containers."
	case schema.RunnerConnector:
		return "This attempt is a job of another system, which a connector started. Connectors do not say what jobs use."
	case schema.RunnerBuiltin:
		return "The server itself runs this action, without a pod, so there is nothing to measure."
	case schema.RunnerClient:
		return "This run is tracked: a client elsewhere runs it and reports it, and does not say what it uses."
	case schema.RunnerExecutor:
	}
	return "No measurement of this attempt has arrived. Attempts that end within seconds may end before the first one. Otherwise " +
		"`flyte-binary doctor` says whether the server may read what pods use."
}

// GetAttemptUsage implements insightv1connect.InsightServiceHandler.
func (v *Viewer) GetAttemptUsage(ctx context.Context, request *insightv1.GetAttemptUsageRequest) (*insightv1.GetAttemptUsageResponse, error) {
	by, all, err := v.Store.Attempts(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	response := &insightv1.GetAttemptUsageResponse{Note: unmeasured(by), Attempt: request.GetAttempt()}
	var chosen *usages.Measured
	for i := range all {
		number := uint32(all[i].Attempt) //nolint:gosec // from 1
		response.MeasuredAttempts = append(response.MeasuredAttempts, number)
		if request.GetAttempt() == 0 || request.GetAttempt() == number {
			chosen = &all[i]
		}
	}
	if chosen == nil {
		return response, nil
	}
	points, err := Decode(chosen.Points)
	if err != nil {
		return nil, rpc.DataLoss(err, "the stored measurements of attempt %d cannot be read", chosen.Attempt)
	}
	response.Note, response.Attempt = "", uint32(chosen.Attempt) //nolint:gosec // from 1
	response.Requests, response.Limits = toProto(amounts(chosen.Requests)), toProto(amounts(chosen.Limits))
	response.Peaks, response.Gpus = toProto(peaksOf(&chosen.Row)), uint32(max(0, chosen.GPUs))
	response.CpuTime = durationpb.New(time.Duration(chosen.CPUMs) * time.Millisecond)
	response.OutOfMemory = outOfMemory(chosen)
	if chosen.EndedAt != nil {
		response.EndedAt = timestamppb.New(*chosen.EndedAt)
	}
	for _, point := range points {
		response.Points = append(response.Points, &insightv1.UsagePoint{At: timestamppb.New(point.At), Used: toProto(point.Used)})
	}
	return response, nil
}

// codeOutOfMemory is the code of errors of attempts that used more memory than their limit, as executors report them.
const codeOutOfMemory = "OOMKilled"

// outOfMemory reports whether an attempt ended because it used more memory than its limit.
func outOfMemory(m *usages.Measured) bool {
	var ended core.ExecutionError
	return len(m.Error) > 0 && proto.Unmarshal(m.Error, &ended) == nil && ended.GetCode() == codeOutOfMemory
}
