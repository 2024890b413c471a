package storetest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	rootTask  = "pipeline"
	shardTask = "shard"
	// perShard is how many actions are below a shard, and every nestedEvery-th of them is itself a parent.
	perShard    = 99
	nestedEvery = 25
	maxDepth    = 5
	// pace is how many actions the run creates in a second.
	pace = 20

	taskAction, traceAction, conditionAction = int16(workflow.ActionType_ACTION_TYPE_TASK), int16(workflow.ActionType_ACTION_TYPE_TRACE), int16(workflow.ActionType_ACTION_TYPE_CONDITION)

	// heldForEver is a hold that nothing lifts: no action that has it is ever admitted.
	heldForEver schema.Hold = 9
)

var stages = []string{"load", "validate", "clean", "features", "train", "evaluate", "report"}

// causes are why actions fail: code, message with a number and a name, and whose fault it is.
var causes = []struct {
	code, message string
	kind          core.ExecutionError_ErrorKind
}{
	{"ConnectionError", "cannot connect to 10.0.3.%d:5432: connection refused by '%s'", core.ExecutionError_SYSTEM},
	{"ValueError", "row %d of '%s' has no price", core.ExecutionError_USER},
	{"KeyError", "column %d of '%s' is missing", core.ExecutionError_USER},
	{"OOMKilled", "the container %[2]s needed more than its %[1]d MiB of memory", core.ExecutionError_USER},
	{"RuntimeError", "loss is not a number after step %d of '%s'", core.ExecutionError_USER},
	{"ImagePullBackOff", "image example/image:%d of %s cannot be pulled", core.ExecutionError_SYSTEM},
}

// scene makes up a run. Ids count from 0, the root's.
type scene struct {
	Shown
	random  *rand.Rand
	specs   digests
	begin   time.Time
	actions []schema.Root
	events  []schema.Event
	goesOn  []bool // by id: whether it, or what is below it, is live
}

func newScene(c Shown, specs digests) *scene {
	c.Now = c.Now.UTC().Truncate(time.Microsecond)
	length := time.Duration(c.Actions/pace+60) * time.Second
	return &scene{Shown: c, random: rand.New(rand.NewPCG(c.Seed, 17)), specs: specs, begin: c.Now.Add(-length)}
}

func (s *scene) make() ([]schema.Root, []schema.Event) {
	s.root()
	for len(s.actions) < s.Actions {
		switch {
		case s.random.IntN(180) == 0:
			s.below(0, 1)
		default:
			s.leaf(0, stages[s.random.IntN(len(stages))])
		}
	}
	s.lay()
	for i := range s.actions {
		s.happen(i)
	}
	s.number()
	return s.actions, s.events
}

func (s *scene) root() {
	root := s.action("a0", taskAction, rootTask)
	root.ParentName, root.ActionGroup = nil, ""
	root.RunSpecDigest, root.RunStartTime = s.specs.run, &s.begin
	root.CreatedBy, root.CreatedBySubject = owner(), "user-0"
	root.Labels = map[string]string{"made": "up"}
	root.Source = int16(workflow.RunSource_RUN_SOURCE_CLI)
	s.actions = append(s.actions, root)
}

func (s *scene) action(name string, kind int16, title string) schema.Root {
	row := schema.Root{Action: schema.Action{
		ID: int64(len(s.actions)), Project: s.Project, Domain: s.Domain, RunName: s.Name, Name: name, ActionType: kind, Attempt: 1,
		TaskName: title, Queue: "default",
	}, Labels: map[string]string{}}
	switch kind {
	case taskAction:
		row.TaskProject, row.TaskDomain, row.TaskName, row.TaskVersion = s.Project, s.Domain, "pipeline."+title, "v1"
		row.TaskType, row.ShortName, row.FunctionName, row.EnvironmentName = "python", title, title, "pipeline"
		row.SpecDigest = s.specs.tasks[title]
	case traceAction:
		row.SpecDigest = s.specs.trace
	default:
		row.SpecDigest = s.specs.condition
	}
	return row
}

// name is like those that the SDK makes.
func (s *scene) name() string {
	return (strconv.FormatUint(s.random.Uint64()|1<<63, 36) + strconv.FormatUint(s.random.Uint64()|1<<63, 36))[:25]
}

func (s *scene) add(parent int, group string, kind int16, title string) int {
	row := s.action(s.name(), kind, title)
	above := s.actions[parent].Name // the actions are moved about
	row.ParentName, row.ActionGroup = &above, group
	s.actions = append(s.actions, row)
	return len(s.actions) - 1
}

// below makes a parent with its children, some of which are parents in turn.
func (s *scene) below(parent, depth int) {
	shard := s.add(parent, "shards", taskAction, shardTask)
	for i := 0; i < perShard && len(s.actions) < s.Actions; i++ {
		if i%nestedEvery == 1 && depth < maxDepth && s.random.IntN(3) == 0 {
			s.below(shard, depth+1)
			continue
		}
		s.leaf(shard, fmt.Sprintf("fold-%d", i%4))
	}
}

func (s *scene) leaf(parent int, group string) {
	switch n := s.random.IntN(1000); {
	case n < 80:
		s.add(parent, group, traceAction, "fetch_page")
	case n == 80 && s.random.IntN(20) == 0:
		s.add(parent, "", conditionAction, "approve")
	default:
		s.add(parent, group, taskAction, stages[s.random.IntN(len(stages))])
	}
}

// lay gives each action its time of creation, parents before children, its place among the actions by it, and whether it
// continues.
func (s *scene) lay() {
	span := s.Now.Sub(s.begin) - 30*time.Second
	at := make(map[string]time.Time, len(s.actions))
	for i := range s.actions {
		row := &s.actions[i]
		row.CreatedAt = s.begin
		if row.ParentName != nil {
			row.CreatedAt = at[*row.ParentName].Add(time.Second + s.some(2*time.Second))
			if *row.ParentName == "a0" {
				row.CreatedAt = s.begin.Add(2*time.Second + time.Duration(float64(span)*float64(i)/float64(len(s.actions))))
			}
			if latest := s.Now.Add(-10 * time.Millisecond); row.CreatedAt.After(latest) {
				row.CreatedAt = latest
			}
		}
		at[row.Name] = row.CreatedAt
	}
	slices.SortStableFunc(s.actions, func(a, b schema.Root) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	place := make(map[string]int, len(s.actions))
	for i := range s.actions {
		s.actions[i].ID = int64(i)
		place[s.actions[i].Name] = i
	}
	s.goesOn = make([]bool, len(s.actions))
	s.goesOn[0] = s.Unfinished > 0
	for i := len(s.actions) - 1; i > 0; i-- {
		s.goesOn[i] = s.goesOn[i] || float64(i) > float64(len(s.actions))*(1-s.Unfinished)
		if s.goesOn[i] {
			s.goesOn[place[*s.actions[i].ParentName]] = true
		}
	}
}

// some is a time that is mostly short and at times long.
func (s *scene) some(median time.Duration) time.Duration {
	return time.Duration(float64(median) * math.Exp(s.random.NormFloat64()*0.8)).Truncate(time.Microsecond)
}

// number orders the events by time and numbers them as the log of the run does.
func (s *scene) number() {
	slices.SortStableFunc(s.events, func(a, b schema.Event) int { return a.RecordedAt.Compare(b.RecordedAt) })
	for i := range s.events {
		s.events[i].Seq = int64(i + 1)
		s.actions[s.events[i].ActionID].LastSeq = int64(i + 1)
	}
	s.actions[0].LastSeq = int64(len(s.events))
	s.actions[0].UpdatedAt = s.Now
}

func (s *scene) failure(i int) []byte {
	at := s.random.IntN(len(causes)) * i / len(s.actions) // the first cause is the only one at first
	cause := causes[min(at+s.random.IntN(2), len(causes)-1)]
	body, err := proto.Marshal(&core.ExecutionError{
		Code: cause.code, Kind: cause.kind, Message: fmt.Sprintf(cause.message, s.random.IntN(250), s.name()[:8]+".parquet"),
	})
	if err != nil {
		panic(err) // text and numbers only
	}
	return body
}

func (s *scene) event(i int, attempt int32, phase common.ActionPhase, at time.Time, failure []byte) {
	s.events = append(s.events, schema.Event{
		ActionID: int64(i), Attempt: attempt, Phase: int16(phase), RecordedAt: at, Error: failure,
	})
	row := &s.actions[i]
	row.Phase, row.Attempt, row.UpdatedAt = int16(phase), attempt, at
	if phase == common.ActionPhase_ACTION_PHASE_RUNNING && row.StartedAt == nil {
		row.StartedAt = &at
	}
}
