package watch

import (
	"bytes"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// recentStatuses is how many runs a group lists individually.
const recentStatuses = 10

// taskGroup builds the message of a group. Its failure rate is the share of runs that failed or timed out. Only the
// errors of the newest failures are read; older failures count as errors of unspecified kind. Averages are in seconds.
func taskGroup(g *watches.TaskGroup) (*workflow.TaskGroup, error) {
	out := &workflow.TaskGroup{
		TaskName:        g.TaskName,
		EnvironmentName: g.EnvironmentName,
		ShortName:       g.ShortName,
		TotalRuns:       g.Total,
		LatestRunTime:   timestamppb.New(g.LatestCreated),
	}
	if g.LatestEnded != nil {
		out.LatestFinishedTime = timestamppb.New(*g.LatestEnded)
	}
	if g.AverageDuration != nil {
		out.AverageDuration = durationpb.New(seconds(*g.AverageDuration))
	}
	if g.AverageTimeToRun != nil {
		out.AverageTimeToRunning = durationpb.New(seconds(*g.AverageTimeToRun))
	}
	for phase, count := range g.Phases {
		if count > 0 {
			out.PhaseCounts = append(out.PhaseCounts, &workflow.TaskGroup_PhaseCounts{
				Phase: common.ActionPhase(phase), Count: count,
			})
		}
	}
	failures := g.Phases[common.ActionPhase_ACTION_PHASE_FAILED] + g.Phases[common.ActionPhase_ACTION_PHASE_TIMED_OUT]
	if g.Total > 0 {
		out.AverageFailureRate = float64(failures) / float64(g.Total)
	}
	if err := addRecent(out, g.Recent); err != nil {
		return nil, err
	}
	var err error
	out.ErrorCounts, err = errorCounts(g.NewestErrors, failures)
	return out, err
}

func addRecent(out *workflow.TaskGroup, runs []watches.RecentRun) error {
	var authors [][]byte
	for i, run := range runs {
		if i < recentStatuses {
			out.RecentStatuses = append(out.RecentStatuses, &workflow.TaskGroup_RecentStatus{
				RunName: run.Name, Phase: common.ActionPhase(run.Phase),
			})
		}
		if len(run.CreatedBy) == 0 || containsBytes(authors, run.CreatedBy) {
			continue
		}
		authors = append(authors, run.CreatedBy)
		author := &common.EnrichedIdentity{}
		if err := proto.Unmarshal(run.CreatedBy, author); err != nil {
			return rpc.DataLoss(err, "the stored creator of run %s cannot be read", run.Name)
		}
		out.CreatedBy = append(out.CreatedBy, author)
	}
	return nil
}

func errorCounts(bodies [][]byte, failures int64) (*workflow.TaskGroup_ErrorCounts, error) {
	if failures == 0 {
		return nil, nil //nolint:nilnil // no failures, no counts
	}
	counts := &workflow.TaskGroup_ErrorCounts{}
	for _, body := range bodies {
		failure := &core.ExecutionError{}
		if err := proto.Unmarshal(body, failure); err != nil {
			return nil, rpc.DataLoss(err, "a stored error cannot be read")
		}
		switch failure.GetKind() {
		case core.ExecutionError_USER:
			counts.UserError++
		case core.ExecutionError_SYSTEM:
			counts.SystemError++
		case core.ExecutionError_UNKNOWN:
		}
	}
	// The failures were counted before the errors were read, so there may be more errors than failures.
	counts.UnspecifiedError = max(0, failures-counts.GetUserError()-counts.GetSystemError())
	return counts, nil
}

func containsBytes(all [][]byte, one []byte) bool {
	for _, each := range all {
		if bytes.Equal(each, one) {
			return true
		}
	}
	return false
}
