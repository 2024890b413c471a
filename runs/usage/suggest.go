package usage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs/store/usages"
)

const (
	// defaultActions is how many actions count unless a request says otherwise.
	defaultActions = 100
	// leastAttempts is how many attempts a suggestion needs.
	leastAttempts = 3
	mib           = 1 << 20
)

// SuggestResources implements insightv1connect.InsightServiceHandler.
func (v *Viewer) SuggestResources(ctx context.Context, request *insightv1.SuggestResourcesRequest) (*insightv1.SuggestResourcesResponse, error) {
	task := usages.Task{Project: request.GetProject(), Domain: request.GetDomain(), Name: request.GetName(), Version: request.GetVersion()}
	all, err := v.Store.OfTask(ctx, task, int(cmp.Or(request.GetActions(), defaultActions)))
	if err != nil {
		return nil, err
	}
	response := &insightv1.SuggestResourcesResponse{Attempts: uint32(len(all))} //nolint:gosec // some thousands
	if len(all) == 0 {
		return response, nil
	}
	var seen, wanted [resources][]uint64
	for i := range all {
		peaks := peaksOf(&all[i].Row)
		needs := peaks
		if outOfMemory(&all[i]) {
			response.OutOfMemory++
			if limit := amount(all[i].Limits.Memory); limit.Known {
				peaks[Memory] = peaks[Memory].Max(limit)
				needs[Memory] = needs[Memory].Max(Of(limit.Value / 2 * 3))
			}
		}
		for r := range peaks {
			if peaks[r].Known {
				seen[r], wanted[r] = append(seen[r], peaks[r].Value), append(wanted[r], needs[r].Value)
			}
		}
	}
	response.Requests, response.Limits = toProto(amounts(all[0].Requests)), toProto(amounts(all[0].Limits))
	response.Peaks = toProto(percentiles(seen))
	if len(all) < leastAttempts {
		return response, nil
	}
	suggested := suggest(percentiles(wanted))
	response.Suggested, response.Code = toProto(suggested), code(suggested)
	return response, nil
}

// percentiles are the 95th percentiles; unset where there are no values.
func percentiles(values [resources][]uint64) (result Amounts) {
	for i, list := range values {
		if len(list) > 0 {
			slices.Sort(list)
			result[i] = Of(list[(len(list)*95+99)/100-1])
		}
	}
	return result
}

// suggest adds a fifth and rounds up to amounts that people write. GPUs are not suggested, since their number is in the program.
func suggest(needs Amounts) (result Amounts) {
	for resource, least := range map[int]uint64{CPU: 100, Memory: 64 * mib, Disk: 256 * mib} {
		if needs[resource].Known {
			result[resource] = Of(roundUp(needs[resource].Value+needs[resource].Value/5, least))
		}
	}
	return result
}

// roundUp rounds up to a multiple of a step that grows with the value: to at most an eighth more.
func roundUp(value, step uint64) uint64 {
	for step < value/8 {
		step *= 2
	}
	return max(1, (value+step-1)/step) * step
}

// code is what one writes to follow a suggestion. Disks are left out: few clusters limit them.
func code(suggested Amounts) string {
	var parts []string
	if cpu := suggested[CPU]; cpu.Known {
		if cpu.Value%1000 == 0 {
			parts = append(parts, fmt.Sprintf("cpu=%d", cpu.Value/1000))
		} else {
			parts = append(parts, fmt.Sprintf("cpu=%q", fmt.Sprintf("%dm", cpu.Value)))
		}
	}
	if memory := suggested[Memory]; memory.Known {
		parts = append(parts, fmt.Sprintf("memory=%q", quantity(memory.Value)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "flyte.Resources(" + strings.Join(parts, ", ") + ")"
}

// quantity writes a multiple of a MiB as Kubernetes does.
func quantity(bytes uint64) string {
	if bytes%(1<<30) == 0 {
		return fmt.Sprintf("%dGi", bytes>>30)
	}
	return fmt.Sprintf("%dMi", bytes/mib)
}
