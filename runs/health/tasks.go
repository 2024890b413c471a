package health

import (
	"context"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/cost"
	"github.com/flyte-binary/flyte-binary/runs/rollup"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Reader reads roll-ups; rollups.Store does.
type Reader interface {
	ListHealth(ctx context.Context, filter rollups.Filter) (page []rollups.Health, next string, err error)
	ReadActions(ctx context.Context, want rollups.TaskActions) (found []rollups.TaskAction, more *rollups.Place, err error)
	Grid(ctx context.Context, task rollups.Task, limit int) ([]rollups.GridRun, []rollups.RunTask, []rollups.Unfinished, error)
}

// Tasks serves TaskHealthService.
type Tasks struct {
	Reader Reader
	Prices cost.Prices
}

var _ insightv1connect.TaskHealthServiceHandler = (*Tasks)(nil)

var orders = map[insightv1.TaskHealthOrder]rollups.Order{
	insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_UNSPECIFIED:  rollups.ByLast,
	insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_NAME:         rollups.ByName,
	insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_P50:          rollups.ByP50,
	insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_P90:          rollups.ByP90,
	insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_CHANGE_P50:   rollups.ByChangeP50,
	insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_CHANGE_P90:   rollups.ByChangeP90,
	insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_FAILURE_RATE: rollups.ByFailureRate,
	insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_HIT_RATE:     rollups.ByHitRate,
	insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_COST:         rollups.ByWeight,
}

// ListTaskHealth implements insightv1connect.TaskHealthServiceHandler.
func (t *Tasks) ListTaskHealth(ctx context.Context, r *insightv1.ListTaskHealthRequest) (*insightv1.ListTaskHealthResponse, error) {
	scope, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	order, ok := orders[r.GetOrder()]
	if !ok {
		return nil, rpc.InvalidArgument("order", "there is no order %d", r.GetOrder())
	}
	page, next, err := t.Reader.ListHealth(ctx, rollups.Filter{
		Scope: scope, Text: r.GetText(), Order: order, Ascending: r.GetAscending(), Limit: r.GetLimit(), Token: r.GetToken(),
	})
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListTaskHealthResponse{Token: next}
	if t.Prices.Set() {
		response.Currency = t.Prices.Currency
	}
	for i := range page {
		response.Tasks = append(response.Tasks, t.message(&page[i]))
	}
	return response, nil
}

func (t *Tasks) message(h *rollups.Health) *insightv1.TaskHealth {
	m := &insightv1.TaskHealth{
		Name: h.Name, LastAt: timestamppb.New(h.LastAt),
		Succeeded: uint32(h.Succeeded), Failed: uint32(h.Failed), Aborted: uint32(h.Aborted), Earlier: uint32(h.Earlier), //nolint:gosec // counts
		P50: milliseconds(h.P50), P90: milliseconds(h.P90), ChangeP50: thousandths(h.ChangeP50), ChangeP90: thousandths(h.ChangeP90),
		FailureRate: thousandths(h.FailureRate), HitRate: thousandths(h.HitRate), Use: cost.Hours(h.Use),
	}
	if h.FailureRate == rollups.NoRate {
		m.FailureRate = nil
	}
	if h.HitRate == rollups.NoRate {
		m.HitRate = nil
	}
	if t.Prices.Set() {
		m.Use.Cost = float64(h.Weight) / cost.Micro
	}
	for _, one := range rollup.Outcomes(h.Outcomes) {
		outcome := &insightv1.TaskOutcome{Phase: common.ActionPhase(one.Phase), Cached: one.Hit}
		if one.Ran > 0 {
			outcome.Ran = durationpb.New(one.Ran)
		}
		m.Outcomes = append(m.Outcomes, outcome)
	}
	return m
}

func milliseconds(ms int64) *durationpb.Duration {
	if ms == rollups.NoTime {
		return nil
	}
	return durationpb.New(time.Duration(ms) * time.Millisecond)
}

func thousandths(n int32) *float64 {
	if n == math.MinInt32 {
		return nil
	}
	share := float64(n) / 1000
	return &share
}

// ListTaskActions implements insightv1connect.TaskHealthServiceHandler.
func (t *Tasks) ListTaskActions(ctx context.Context, r *insightv1.ListTaskActionsRequest) (*insightv1.ListTaskActionsResponse, error) {
	scope, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	after, err := placeOfToken(r.GetToken())
	if err != nil {
		return nil, err
	}
	want := rollups.TaskActions{Task: rollups.Task{Scope: scope, Name: r.GetTask()}, Version: r.GetVersion(), After: after, Limit: limit(r.GetLimit(), 50)}
	for i, phase := range r.GetPhases() {
		if _, known := common.ActionPhase_name[int32(phase)]; !known {
			return nil, rpc.InvalidArgument("phases", "there is no phase %d at %d", phase, i)
		}
		want.Phases = append(want.Phases, int16(phase)) //nolint:gosec // an enum of few values
	}
	found, more, err := t.Reader.ReadActions(ctx, want)
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListTaskActionsResponse{Token: tokenOf(more)}
	for i := range found {
		a := &found[i]
		one := &insightv1.TaskAction{
			ActionId: identOf(a).Proto(), RootTask: a.RootTask, Version: a.TaskVersion, Phase: common.ActionPhase(a.Phase), Cached: isHit(&a.Action),
			EndedAt: timestamppb.New(*a.EndedAt), Attempts: uint32(max(a.Attempt, 1)),
		}
		if a.StartedAt != nil {
			one.StartedAt = timestamppb.New(*a.StartedAt)
		}
		response.Actions = append(response.Actions, one)
	}
	return response, nil
}

func limit(given uint32, standard int) int {
	if given == 0 {
		return standard
	}
	return int(given)
}

func placeOf(id *common.ProjectIdentifier) (schema.Scope, error) {
	switch {
	case id.GetName() == "":
		return schema.Scope{}, rpc.InvalidArgument("project_id.name", "is required")
	case id.GetDomain() == "":
		return schema.Scope{}, rpc.InvalidArgument("project_id.domain", "is required")
	}
	return schema.Scope{Project: id.GetName(), Domain: id.GetDomain()}, nil
}
