package usage

import (
	"context"
	"fmt"
	"slices"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/usages"
)

// Changer changes what is kept of attempts; usages.Store does.
type Changer interface {
	Change(ctx context.Context, cluster string, keys []usages.Key, change func(*usages.Row) (changed bool, err error)) error
}

// Recorder serves RecordUsage of EngineService.
type Recorder struct{ Store Changer }

// RecordUsage implements enginev1connect.EngineServiceHandler.
func (r *Recorder) RecordUsage(ctx context.Context, request *enginev1.RecordUsageRequest) (*enginev1.RecordUsageResponse, error) {
	given := map[usages.Key]*enginev1.AttemptUsage{}
	keys := make([]usages.Key, 0, len(request.GetUsages()))
	for i, one := range request.GetUsages() {
		key := usages.Key{ActionID: one.GetUid(), Attempt: int32(one.GetAttempt())} //nolint:gosec // the contract bounds it
		if given[key] != nil {
			return nil, rpc.InvalidArgument(fmt.Sprintf("usages[%d]", i), "attempt %d of %d is in the request twice", key.Attempt, key.ActionID)
		}
		if one.GetSince() != nil && !one.GetSince().IsValid() {
			return nil, rpc.InvalidArgument(fmt.Sprintf("usages[%d].since", i), "is not a valid time")
		}
		for k, point := range one.GetPoints() {
			if !point.GetAt().IsValid() {
				return nil, rpc.InvalidArgument(fmt.Sprintf("usages[%d].points[%d].at", i, k), "is missing or no time")
			}
		}
		given[key], keys = one, append(keys, key)
	}
	slices.SortFunc(keys, compare)
	err := r.Store.Change(ctx, authz.ClusterOf(ctx), keys, func(row *usages.Row) (bool, error) { return add(row, given[row.Key]) })
	if err != nil {
		return nil, err
	}
	return &enginev1.RecordUsageResponse{}, nil
}

// longestStep is how long an interval may count as processor time. After a longer pause, such as an outage, only its end is known.
const longestStep = 10 * time.Minute

// add adds the newer ones of the measurements to what is kept of an attempt.
func add(row *usages.Row, given *enginev1.AttemptUsage) (changed bool, err error) {
	var points []Point
	if len(row.Points) > 0 {
		if points, err = Decode(row.Points); err != nil {
			points = nil // the curve begins again
		}
	}
	peaks := peaksOf(row)
	before := row.LastAt // of the next point; zero where its time begins is not known
	if before.IsZero() {
		row.MeasuredMs = new(int64)
		if given.GetSince() != nil {
			before = given.GetSince().AsTime()
		}
	}
	for _, one := range given.GetPoints() {
		at := one.GetAt().AsTime()
		if !at.After(row.LastAt) {
			continue
		}
		used := fromProto(one.GetUsed())
		if step := at.Sub(before); used[CPU].Known && !before.IsZero() && step > 0 && step <= longestStep {
			row.CPUMs += int64(float64(used[CPU].Value) * step.Seconds()) // thousandths of a core for seconds are milliseconds
			if row.MeasuredMs != nil {
				*row.MeasuredMs += step.Milliseconds()
			}
		}
		points, peaks = Append(points, Point{At: at, Used: used}), peaks.Max(used)
		row.LastAt, before, changed = at, at, true
	}
	if !changed {
		return false, nil
	}
	row.Points, row.GPUs = Encode(points), int16(min(given.GetGpus(), 1<<15-1))
	row.Requests, row.Limits = triple(fromProto(given.GetRequests())), triple(fromProto(given.GetLimits()))
	row.Peaks = triple(peaks)
	row.PeakGPU, row.PeakGPUMemory = number(peaks[GPU]), number(peaks[GPUMemory])
	return true, nil
}

func compare(a, b usages.Key) int {
	if a.ActionID != b.ActionID {
		return int(min(max(a.ActionID-b.ActionID, -1), 1))
	}
	return int(a.Attempt) - int(b.Attempt)
}

func fromProto(given *insightv1.Amounts) (all Amounts) {
	if given == nil {
		return all
	}
	//nolint:protogetter // whether a field is set matters
	for i, value := range [resources]*uint64{given.CpuMilli, given.MemoryBytes, given.DiskBytes, given.GpuPercent, given.GpuMemoryBytes} {
		if value != nil {
			all[i] = Of(min(*value, 1<<62))
		}
	}
	return all
}

func toProto(all Amounts) *insightv1.Amounts {
	out := &insightv1.Amounts{}
	for i, field := range [resources]**uint64{&out.CpuMilli, &out.MemoryBytes, &out.DiskBytes, &out.GpuPercent, &out.GpuMemoryBytes} {
		if all[i].Known {
			value := all[i].Value
			*field = &value
		}
	}
	return out
}

func triple(all Amounts) usages.Triple {
	return usages.Triple{CPU: number(all[CPU]), Memory: number(all[Memory]), Disk: number(all[Disk])}
}

func number(amount Amount) *int64 {
	if !amount.Known {
		return nil
	}
	value := int64(amount.Value) //nolint:gosec // at most 1<<62
	return &value
}

func amount(value *int64) Amount {
	if value == nil {
		return Amount{}
	}
	return Of(uint64(max(0, *value)))
}

func amounts(t usages.Triple) Amounts {
	return Amounts{CPU: amount(t.CPU), Memory: amount(t.Memory), Disk: amount(t.Disk)}
}

func peaksOf(row *usages.Row) Amounts {
	peaks := amounts(row.Peaks)
	peaks[GPU], peaks[GPUMemory] = amount(row.PeakGPU), amount(row.PeakGPUMemory)
	return peaks
}
