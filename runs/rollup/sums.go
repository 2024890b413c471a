package rollup

import (
	"context"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// maxLabels bounds the labels of a run that count, the first by their key.
const maxLabels = 20

// maxName bounds the name of an owner or a label, in bytes.
const maxName = 300

// sums implements rollups.Sums.
type sums struct{ asks Asks }

var _ rollups.Sums = (*sums)(nil)

type (
	dayKey struct {
		task rollups.Task
		day  int64
	}
	runTaskKey struct {
		run  int64
		task string
	}
	useKey struct {
		scope schema.Scope
		day   int64
		kind  rollups.Kind
		name  string
		rate  rollups.Rate
	}
)

// counting collects the counts of a batch.
type counting struct {
	days      map[dayKey]*rollups.TaskDay
	durations map[dayKey]durations
	runTasks  map[runTaskKey]*rollups.RunTask
	uses      map[useKey]*rollups.UseDay
	runs      map[int64]*rollups.RunUse
	outcomes  map[rollups.Task][]rollups.Outcome
}

// Count implements rollups.Sums.
func (s *sums) Count(ctx context.Context, ended []rollups.Ended) (*rollups.Counts, error) {
	asked, err := s.asked(ctx, ended)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(ended, func(a, b rollups.Ended) int { return a.Action.EndedAt.Compare(*b.Action.EndedAt) })
	c := &counting{
		days: map[dayKey]*rollups.TaskDay{}, durations: map[dayKey]durations{}, runTasks: map[runTaskKey]*rollups.RunTask{},
		uses: map[useKey]*rollups.UseDay{}, runs: map[int64]*rollups.RunUse{}, outcomes: map[rollups.Task][]rollups.Outcome{},
	}
	for i := range ended {
		c.outcome(&ended[i])
		size := asked[string(ended[i].Action.SpecDigest)]
		if used := usedBy(&ended[i], size); used.Use != (rollups.Use{}) {
			c.use(&ended[i], used, measuredBy(&ended[i], size))
		}
	}
	return c.counts(), nil
}

func hit(a *schema.Action) bool {
	cached, uses := cachedOf(a)
	return uses && cached == Hit && a.Phase == state.Succeeded
}

// ran is how long an action ran; false for one that did not, or that another answered. It is what GetTaskHistory measures.
func ran(a *schema.Action) (time.Duration, bool) {
	if a.Phase != state.Succeeded || hit(a) || a.StartedAt == nil {
		return 0, false
	}
	return max(0, a.EndedAt.Sub(*a.StartedAt)), true
}

func (c *counting) outcome(e *rollups.Ended) {
	a, task := &e.Action, e.Task()
	key := dayKey{task, rollups.Day(*a.EndedAt).Unix()}
	day := c.days[key]
	if day == nil {
		day = &rollups.TaskDay{Task: task, Day: rollups.Day(*a.EndedAt), Cache: make([]int32, kinds)}
		c.days[key], c.durations[key] = day, durations{}
	}
	of := runTaskKey{a.RunID, a.TaskName}
	row := c.runTasks[of]
	if row == nil {
		row = &rollups.RunTask{RunID: a.RunID, Task: a.TaskName, Name: a.Name}
		c.runTasks[of] = row
	}
	switch a.Phase {
	case state.Succeeded, state.Recovered:
		day.Succeeded++
		row.Succeeded++
	case state.Failed, state.TimedOut:
		day.Failed++
		if row.Failed == 0 {
			row.Name = a.Name
		}
		row.Failed++
	default:
		day.Aborted++
		row.Aborted++
	}
	if cached, uses := cachedOf(a); uses {
		day.Cache[cached]++
	}
	if hit(a) {
		row.Cached++
	}
	duration, timed := ran(a)
	if timed {
		c.durations[key].add(duration)
		row.Ran += duration
	} else if a.StartedAt != nil && !hit(a) {
		duration = max(0, a.EndedAt.Sub(*a.StartedAt))
	}
	c.outcomes[task] = append(c.outcomes[task], rollups.Outcome{Phase: a.Phase, Hit: hit(a), Ran: duration, At: *a.EndedAt})
}

func (c *counting) use(e *rollups.Ended, used rollups.Priced, measured rollups.Measured) {
	a := &e.Action
	scope, day := schema.Scope{Project: a.Project, Domain: a.Domain}, rollups.Day(*a.EndedAt)
	add := func(kind rollups.Kind, name string) {
		key := useKey{scope, day.Unix(), kind, name, used.Rate}
		row := c.uses[key]
		if row == nil {
			row = &rollups.UseDay{Scope: scope, Day: day, Kind: kind, Name: name, Rate: used.Rate}
			c.uses[key] = row
		}
		row.Actions++
		row.Use, row.Measured = row.Use.Plus(used.Use), row.Measured.Plus(measured)
	}
	add(rollups.OfPlace, "")
	add(rollups.OfTask, a.TaskName)
	if e.Owner != "" && len(e.Owner) <= maxName {
		add(rollups.OfOwner, e.Owner)
	}
	for _, label := range labelsOf(e.Labels) {
		add(rollups.OfLabel, label)
	}
	run := c.runs[a.RunID]
	if run == nil {
		run = &rollups.RunUse{RunID: a.RunID, Scope: scope, Created: e.RunCreated}
		c.runs[a.RunID] = run
	}
	run.Used, run.Measured = append(run.Used, used), run.Measured.Plus(measured)
}

func labelsOf(labels map[string]string) []string {
	all := make([]string, 0, len(labels))
	for key, value := range labels {
		if label := key + "=" + value; len(label) <= maxName {
			all = append(all, label)
		}
	}
	slices.Sort(all)
	return all[:min(len(all), maxLabels)]
}

func (c *counting) counts() *rollups.Counts {
	counts := &rollups.Counts{Outcomes: c.outcomes}
	for key, day := range c.days {
		day.Durations = c.durations[key].encode()
		counts.Days = append(counts.Days, *day)
	}
	for _, row := range c.runTasks {
		counts.Tasks = append(counts.Tasks, *row)
	}
	for _, row := range c.uses {
		counts.Uses = append(counts.Uses, *row)
	}
	for _, row := range c.runs {
		counts.Runs = append(counts.Runs, *row)
	}
	return counts
}

// Merge implements rollups.Sums.
func (*sums) Merge(a, b []byte) ([]byte, error) {
	all, err := decodeDurations(a)
	if err != nil {
		return nil, err
	}
	more, err := decodeDurations(b)
	if err != nil {
		return nil, err
	}
	all.merge(more)
	return all.encode(), nil
}

// Append implements rollups.Sums.
func (*sums) Append(outcomes []byte, more []rollups.Outcome) []byte {
	return appendOutcomes(outcomes, more)
}
