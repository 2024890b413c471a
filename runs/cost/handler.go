package cost

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	maxParts    = 100 // sums of a response
	earlierRuns = 20  // with which a run is compared
)

// Reader reads what was used; rollups.Store does.
type Reader interface {
	SumDays(ctx context.Context, scope schema.Scope, from, to time.Time) ([]rollups.Sum, error)
	SumNames(ctx context.Context, scope schema.Scope, kind rollups.Kind, from, to time.Time) ([]rollups.Sum, error)
	TopRuns(ctx context.Context, scope schema.Scope, from, to time.Time, limit int) ([]rollups.UsedRun, error)
	UsedBy(ctx context.Context, run ident.Run, limit int) (one rollups.UsedRun, before []rollups.UsedRun, err error)
}

// Handler serves CostService.
type Handler struct {
	Reader Reader
	Prices Prices
	Clock  clock.Clock
}

var _ insightv1connect.CostServiceHandler = (*Handler)(nil)

// missingSetting is what gives money to use.
const missingSetting = "runs.cost.prices"

var kinds = map[insightv1.CostGroup]rollups.Kind{
	insightv1.CostGroup_COST_GROUP_TASK:  rollups.OfTask,
	insightv1.CostGroup_COST_GROUP_OWNER: rollups.OfOwner,
	insightv1.CostGroup_COST_GROUP_LABEL: rollups.OfLabel,
}

// GetCosts implements insightv1connect.CostServiceHandler.
func (h *Handler) GetCosts(ctx context.Context, r *insightv1.GetCostsRequest) (*insightv1.GetCostsResponse, error) {
	scope := schema.Scope{Project: r.GetProjectId().GetName(), Domain: r.GetProjectId().GetDomain()}
	_, named := kinds[r.GetGroup()]
	runs := r.GetGroup() == insightv1.CostGroup_COST_GROUP_RUN
	switch {
	case r.GetProjectId() != nil && scope.Project == "":
		return nil, rpc.InvalidArgument("project_id.name", "is required")
	case scope.Project != "" && scope.Domain == "":
		return nil, rpc.InvalidArgument("project_id.domain", "is required")
	case scope.Project != "" && !named && !runs:
		return nil, rpc.InvalidArgument("group", "is task, owner, label or run of a project, got %s", r.GetGroup())
	case scope.Project == "" && (named || runs || r.GetGroup() != insightv1.CostGroup_COST_GROUP_UNSPECIFIED):
		return nil, rpc.InvalidArgument("group", "without a project there are only sums of projects, got %s", r.GetGroup())
	}
	count := int(max(r.GetDays(), 1))
	today := rollups.Day(h.Clock.Now())
	first := today.AddDate(0, 0, 1-count)
	days, err := h.Reader.SumDays(ctx, scope, first.AddDate(0, 0, -count), today)
	if err != nil {
		return nil, err
	}
	response := &insightv1.GetCostsResponse{}
	if h.Prices.Set() {
		response.Currency = h.Prices.Currency
	}
	h.totals(response, days, first, count)
	switch {
	case named:
		var sums []rollups.Sum
		if sums, err = h.Reader.SumNames(ctx, scope, kinds[r.GetGroup()], first, today); err == nil {
			response.Parts = h.parts(sums)
		}
	case runs:
		var top []rollups.UsedRun
		if top, err = h.Reader.TopRuns(ctx, scope, first, today, maxParts); err == nil {
			response.Parts = h.runs(top)
		}
	default:
		within := slices.DeleteFunc(days, func(s rollups.Sum) bool { return s.Day.Before(first) })
		response.Parts = h.parts(within)
	}
	return response, err
}

// totals sums the days from first on, and those before.
func (h *Handler) totals(response *insightv1.GetCostsResponse, days []rollups.Sum, first time.Time, count int) {
	byDay := make([]joined, count)
	var now, before joined
	for i := range days {
		at := int(days[i].Day.Sub(first).Hours() / 24)
		if days[i].Day.Before(first) {
			before.add(&days[i])
			continue
		}
		now.add(&days[i])
		if at < count {
			byDay[at].add(&days[i])
		}
	}
	response.Total, response.Before = h.sum(&now), h.sum(&before)
	for i := range byDay {
		response.Days = append(response.Days, h.sum(&byDay[i]))
	}
	if !h.Prices.Set() || h.Prices.Unpriced(now.used) {
		response.MissingSetting = missingSetting
	}
}

// joined is a sum over rates or days.
type joined struct {
	actions  int64
	used     []rollups.Priced
	measured rollups.Measured
}

func (j *joined) add(one *rollups.Sum) {
	j.actions, j.used, j.measured = j.actions+one.Actions, append(j.used, one.Priced), j.measured.Plus(one.Measured)
}

// sum is use with its cost, and what was measured of it.
func (h *Handler) sum(j *joined) *insightv1.Use {
	use := h.Use(j.used)
	use.Measured = measured(j.measured)
	return use
}

func (h *Handler) run(run *rollups.UsedRun) *insightv1.Use {
	return h.sum(&joined{used: run.Used, measured: run.Measured})
}

// measured is missing if nothing was.
func measured(all rollups.Measured) *insightv1.MeasuredUse {
	if all == (rollups.Measured{}) {
		return nil
	}
	return &insightv1.MeasuredUse{
		RequestedCoreHours: float64(all.CPU.Of) / coreHour, UsedCoreHours: float64(all.CPU.Used) / coreHour,
		RequestedGibHours: float64(all.Memory.Of) / gibHour, UsedGibHours: float64(all.Memory.Used) / gibHour,
	}
}

// parts joins the rates of each name, the most expensive first.
func (h *Handler) parts(sums []rollups.Sum) []*insightv1.CostPart {
	type key struct {
		scope schema.Scope
		name  string
	}
	type part struct {
		key
		joined
	}
	at := map[key]int{}
	var all []part
	for i := range sums {
		k := key{sums[i].Scope, sums[i].Name}
		if _, ok := at[k]; !ok {
			at[k] = len(all)
			all = append(all, part{key: k})
		}
		all[at[k]].add(&sums[i])
	}
	slices.SortFunc(all, func(a, b part) int {
		return cmp.Or(cmp.Compare(h.Prices.Weigh(b.used), h.Prices.Weigh(a.used)), cmp.Compare(a.scope.Project, b.scope.Project), cmp.Compare(a.scope.Domain, b.scope.Domain),
			cmp.Compare(a.name, b.name))
	})
	var parts []*insightv1.CostPart
	for i := range all[:min(len(all), maxParts)] {
		one := &all[i]
		parts = append(parts, &insightv1.CostPart{
			ProjectId: &common.ProjectIdentifier{Name: one.scope.Project, Domain: one.scope.Domain}, Name: one.name, Use: h.sum(&one.joined),
			Actions: uint64(one.actions), //nolint:gosec // a count
		})
	}
	return parts
}

func (h *Handler) runs(top []rollups.UsedRun) (parts []*insightv1.CostPart) {
	for i := range top {
		run := &top[i]
		parts = append(parts, &insightv1.CostPart{
			ProjectId: &common.ProjectIdentifier{Name: run.Project, Domain: run.Domain}, Name: run.Name, Use: h.run(run),
			Task: run.Task, CreatedAt: timestamppb.New(run.Created),
		})
	}
	return parts
}

// GetRunCost implements insightv1connect.CostServiceHandler.
func (h *Handler) GetRunCost(ctx context.Context, r *insightv1.GetRunCostRequest) (*insightv1.GetRunCostResponse, error) {
	one, before, err := h.Reader.UsedBy(ctx, ident.RunOf(r.GetRunId()), earlierRuns)
	if err != nil {
		return nil, err
	}
	response := &insightv1.GetRunCostResponse{Use: h.run(&one), EarlierRuns: uint32(len(before))} //nolint:gosec // at most 20
	if h.Prices.Set() {
		response.Currency = h.Prices.Currency
	}
	if len(before) > 0 {
		var all []rollups.Priced
		for i := range before {
			all = append(all, before[i].Used...)
		}
		sum, n := h.Use(all), float64(len(before))
		response.Earlier = &insightv1.Use{CoreHours: sum.GetCoreHours() / n, GibHours: sum.GetGibHours() / n, GpuHours: sum.GetGpuHours() / n, Cost: sum.GetCost() / n}
	}
	return response, nil
}

// Use is the sum of use, with its cost.
func (h *Handler) Use(used []rollups.Priced) *insightv1.Use {
	var sum rollups.Use
	for _, one := range used {
		sum = sum.Plus(one.Use)
	}
	use := Hours(sum)
	use.Cost = h.Prices.Cost(used)
	return use
}

// Hours is use without its cost.
func Hours(use rollups.Use) *insightv1.Use {
	return &insightv1.Use{CoreHours: float64(use.CPU) / coreHour, GibHours: float64(use.Memory) / gibHour, GpuHours: float64(use.GPU) / coreHour}
}
