package health

import (
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
)

const (
	standardRuns = 30
	maxTasks     = 200
)

// GetPipelineGrid implements insightv1connect.TaskHealthServiceHandler.
func (t *Tasks) GetPipelineGrid(ctx context.Context, r *insightv1.GetPipelineGridRequest) (*insightv1.GetPipelineGridResponse, error) {
	scope, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	runs, tasks, unfinished, err := t.Reader.Grid(ctx, rollups.Task{Scope: scope, Name: r.GetTask()}, limit(r.GetRuns(), standardRuns))
	if err != nil {
		return nil, err
	}
	slices.Reverse(runs)
	response := &insightv1.GetPipelineGridResponse{}
	column := make(map[int64]int, len(runs))
	for i := range runs {
		run := &runs[i]
		column[run.ID] = i
		shown := &insightv1.GridRun{Name: run.Name, Phase: common.ActionPhase(run.Phase), CreatedAt: timestamppb.New(run.Created), Version: run.Version}
		if run.Ended != nil {
			shown.Duration = durationpb.New(max(0, run.Ended.Sub(run.Created)))
		}
		response.Runs = append(response.Runs, shown)
	}
	rows := map[string][]*insightv1.GridCell{}
	cell := func(task string, run int64) *insightv1.GridCell {
		if rows[task] == nil {
			cells := make([]*insightv1.GridCell, len(runs))
			for i := range cells {
				cells[i] = &insightv1.GridCell{}
			}
			rows[task] = cells
		}
		return rows[task][column[run]]
	}
	//nolint:gosec // counts
	for i := range tasks {
		counted := &tasks[i]
		c := cell(counted.Task, counted.RunID)
		c.Succeeded, c.Failed, c.Aborted, c.Cached = uint32(counted.Succeeded), uint32(counted.Failed), uint32(counted.Aborted), uint32(counted.Cached)
		c.Actions = c.GetSucceeded() + c.GetFailed() + c.GetAborted()
		c.Action = counted.Name
		if ran := counted.Succeeded - counted.Cached; ran > 0 {
			c.Average = durationpb.New((counted.Ran / time.Duration(ran)).Round(time.Millisecond))
		}
	}
	for _, more := range unfinished {
		c := cell(more.Task, more.RunID)
		c.Unfinished = uint32(more.Actions) //nolint:gosec // a count
		c.Actions += c.GetUnfinished()
		if c.GetAction() == "" {
			c.Action = more.Name
		}
	}
	for _, name := range ordered(rows, r.GetTask()) {
		if response.MoreTasks = len(response.GetTasks()) == maxTasks; response.GetMoreTasks() {
			break
		}
		response.Tasks = append(response.Tasks, &insightv1.GridTask{Name: name, Cells: rows[name]})
	}
	return response, nil
}

// ordered has the root task first, then the others by name.
func ordered(rows map[string][]*insightv1.GridCell, root string) []string {
	names := make([]string, 0, len(rows))
	for name := range rows {
		if name != root {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if rows[root] != nil {
		names = slices.Insert(names, 0, root)
	}
	return names
}
