package rollup

import (
	"cmp"
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Asks reads what actions request by the digests of their specs; asks.Reader does.
type Asks interface {
	Sizes(ctx context.Context, digests [][]byte) (map[string]asks.Size, error)
}

// asked reads what the actions requested.
func (s *sums) asked(ctx context.Context, ended []rollups.Ended) (map[string]asks.Size, error) {
	var digests [][]byte
	seen := map[string]bool{}
	for i := range ended {
		digest := ended[i].Action.SpecDigest
		if len(ended[i].Events) > 0 && len(digest) > 0 && !seen[string(digest)] {
			seen[string(digest)] = true
			digests = append(digests, digest)
		}
	}
	if len(digests) == 0 {
		return nil, nil
	}
	return s.asks.Sizes(ctx, digests)
}

// usedBy is what an action requested, times how long its attempts had it: from when a machine began with each until it ended. A worker
// has its resources for as many actions at once as its concurrency; each has that part.
func usedBy(e *rollups.Ended, size asks.Size) rollups.Priced {
	a := &e.Action
	rate := rollups.Rate{Cluster: a.Cluster, Queue: cmp.Or(a.Queue, queues.Default)}
	if size.GPUs > 0 {
		rate.Accelerator = cmp.Or(size.Accelerator, "gpu")
	}
	var held time.Duration
	if size != (asks.Size{}) {
		held = heldFor(a, e.Events)
	}
	share := int64(1)
	if a.Runner == schema.RunnerPool {
		share = max(1, size.Concurrency)
	}
	seconds := held.Seconds() / float64(share)
	return rollups.Priced{Rate: rate, Use: rollups.Use{
		CPU:    int64(seconds * float64(size.CPUMilli)),
		Memory: int64(seconds * float64(size.Memory) / (1 << 20)),
		GPU:    int64(seconds * 1000 * float64(size.GPUs)),
	}}
}

// mostUsed is how many times what it requested an attempt counts as having used, so that no measurement makes sums overflow.
const mostUsed = 1000

// measuredBy is what the attempts of an action really used while they were measured, of what they requested for that time: processor time,
// and the memory that they needed at their peak. What was not requested does not count. The last measurements of an attempt mostly arrive
// after this, so the time ends before that of the attempt.
func measuredBy(e *rollups.Ended, size asks.Size) (all rollups.Measured) {
	memory := size.Memory / (1 << 20)
	for _, one := range e.Measured {
		seconds := one.For.Seconds()
		if of := int64(seconds * float64(size.CPUMilli)); of > 0 {
			// A millisecond of processor time is a thousandth of a core for a second.
			all.CPU = all.CPU.Plus(rollups.Share{Used: min(max(0, one.CPUMs), mostUsed*of), Of: of})
		}
		if of := int64(seconds * float64(memory)); of > 0 && one.PeakMemory > 0 {
			used := min(float64(one.PeakMemory)/(1<<20), mostUsed*float64(memory))
			all.Memory = all.Memory.Plus(rollups.Share{Used: int64(seconds * used), Of: of})
		}
	}
	return all
}

// heldFor is how long the attempts of an action had a machine.
func heldFor(a *schema.Action, events []schema.Event) (sum time.Duration) {
	attempts, err := protomap.Attempts(a, events)
	if err != nil {
		return 0 // the event of another version; what it says does not count
	}
	for n, attempt := range attempts {
		end := *a.EndedAt
		if attempt.GetEndTime().IsValid() {
			end = attempt.GetEndTime().AsTime()
		} else if n+1 < len(attempts) && attempts[n+1].GetStartTime().IsValid() {
			end = attempts[n+1].GetStartTime().AsTime()
		}
		for _, step := range attempt.GetPhaseTransitions() {
			if phase := state.Phase(step.GetPhase()); phase == state.Initializing || phase == state.Running { //nolint:gosec // an enum of few values
				sum += max(0, end.Sub(step.GetStartTime().AsTime()))
				break
			}
		}
	}
	return sum
}
