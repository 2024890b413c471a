package insight_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/insight"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// line is the queue ahead of an action, and what is live.
type line struct {
	ahead, live     int
	turns, projects int
	shared, people  int
	load            worklists.Load
	owner           *ident.Action
}

func (l *line) Ahead(context.Context, string, []string, *schema.Action) (worklists.Standing, error) {
	return worklists.Standing{Ahead: l.ahead, Live: l.live, Turns: l.turns, Projects: l.projects, Shared: l.shared, People: l.people}, nil
}

func (l *line) Load(context.Context, worklists.LoadScope) (*worklists.Load, error) {
	return &l.load, nil
}

func (l *line) ReservedBy(context.Context, *schema.Action) (*ident.Action, error) {
	return l.owner, nil
}

func standing(change func(*lists.Standing)) *lists.Standing {
	s := &lists.Standing{Action: schema.Action{
		RunID: 1, Project: "p", Name: "child", ParentName: new(string), ActionType: int16(workflow.ActionType_ACTION_TYPE_TASK), Phase: state.Queued,
		Attempt: 1, Queue: "gpu", CreatedAt: time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC),
	}}
	change(s)
	return s
}

func TestWaits(t *testing.T) {
	admitted := time.Date(2026, time.July, 1, 1, 0, 0, 0, time.UTC)
	full := worklists.Load{Parts: []worklists.LoadPart{{Queue: "gpu", RunID: 9, Root: true, Actions: 2, Executor: 2}}}
	busy := worklists.Load{Runs: map[int64]int{1: 3}}
	for name, tc := range map[string]struct {
		change func(*lists.Standing)
		line   line
		cause  insightv1.WaitCause
		limit  int64
		text   string
	}{
		"about to start": {func(*lists.Standing) {}, line{}, insightv1.WaitCause_WAIT_CAUSE_PENDING, 0, "about to be admitted"},
		"its turn":       {func(*lists.Standing) {}, line{ahead: 2}, insightv1.WaitCause_WAIT_CAUSE_TURN, 0, "2 actions are ahead of it in queue gpu"},
		"turns": {
			func(*lists.Standing) {}, line{turns: 12, projects: 3}, insightv1.WaitCause_WAIT_CAUSE_TURN, 0,
			"its turn in queue gpu has not come; 12 actions of 3 other projects take turns with those of project p",
		},
		"one turn": {
			func(*lists.Standing) {}, line{ahead: 1, turns: 1, projects: 1}, insightv1.WaitCause_WAIT_CAUSE_TURN, 0,
			"one action is ahead of it in queue gpu; one action of one other project takes turns with those of project p",
		},
		"turns of people": {
			func(*lists.Standing) {}, line{shared: 4, people: 2}, insightv1.WaitCause_WAIT_CAUSE_TURN, 0,
			"its turn in queue gpu has not come; 4 actions of 2 other callers in project p take turns with it",
		},
		"turns of people and projects": {
			func(*lists.Standing) {}, line{ahead: 3, shared: 1, people: 1, turns: 2, projects: 1}, insightv1.WaitCause_WAIT_CAUSE_TURN, 0,
			"3 actions are ahead of it in queue gpu; one action of one other caller in project p takes turns with it; " +
				"2 actions of one other project take turns with those of project p",
		},
		"concurrency":          {func(s *lists.Standing) { s.RunLimit = 3 }, line{load: busy}, insightv1.WaitCause_WAIT_CAUSE_RUN_CONCURRENCY, 3, "3 of 3"},
		"actions of its queue": {func(*lists.Standing) {}, line{load: full}, insightv1.WaitCause_WAIT_CAUSE_QUEUE_ACTIONS, 2, "2 of 2"},
		"runs of its queue":    {func(s *lists.Standing) { s.ParentName = nil }, line{load: full}, insightv1.WaitCause_WAIT_CAUSE_QUEUE_RUNS, 1, "1 of 1"},
		"installation":         {func(s *lists.Standing) { s.Queue = "" }, line{live: 2, load: full}, insightv1.WaitCause_WAIT_CAUSE_INSTALLATION, 2, "2 of 2"},
		"lookup":               {func(s *lists.Standing) { s.Hold = schema.HoldCache }, line{}, insightv1.WaitCause_WAIT_CAUSE_PENDING, 0, "looked up"},
		"reservation": {
			func(s *lists.Standing) { s.Hold, s.CacheReason = schema.HoldReservation, "r/other computes it" }, line{owner: &ident.Action{Name: "other"}},
			insightv1.WaitCause_WAIT_CAUSE_CACHE_RESERVATION, 0, "r/other computes it",
		},
		"cluster": {func(s *lists.Standing) { s.AdmittedAt = &admitted }, line{}, insightv1.WaitCause_WAIT_CAUSE_CLUSTER, 0, "admitted"},
		"backoff": {
			func(s *lists.Standing) { s.AdmittedAt, s.Attempt = &admitted, 2 }, line{}, insightv1.WaitCause_WAIT_CAUSE_BACKOFF, 0, "attempt 1 was lost",
		},
		"signal": {func(s *lists.Standing) {
			s.ActionType, s.Phase, s.TaskName = int16(workflow.ActionType_ACTION_TYPE_CONDITION), state.Paused, "approve"
		}, line{}, insightv1.WaitCause_WAIT_CAUSE_SIGNAL, 0, "approve"},
	} {
		t.Run(name, func(t *testing.T) {
			waits := &insight.Waits{
				Actions: &tc.line, Queue: &tc.line, MaxLive: 2,
				Queues: queues.New([]queues.Queue{{Name: "gpu", MaxActions: 2, MaxRuns: 1}}),
			}
			w, err := waits.Of(t.Context(), standing(tc.change))
			require.NoError(t, err)
			require.Equal(t, tc.cause, w.GetCause(), w.GetMessage())
			require.Equal(t, tc.limit, w.GetLimit())
			require.Contains(t, w.GetMessage(), tc.text)
			require.Equal(t, tc.line.owner != nil, w.GetBehind() != nil)
		})
	}
}

// TestAWaitForASlowClusterSaysSo: with fewer places than configured, the reason is not the limit but the cluster.
func TestAWaitForASlowClusterSaysSo(t *testing.T) {
	for ceiling, text := range map[int]string{
		2: "the installation is at its limit of concurrent actions (2 of 2 in use), fewer than the usual 5 because the cluster answers slowly",
		5: "about to be admitted",
	} {
		waits := &insight.Waits{
			Queue:  &line{live: 2, load: worklists.Load{Parts: []worklists.LoadPart{{Queue: "other", RunID: 9, Root: true, Actions: 2, Executor: 2}}}},
			Queues: queues.New(nil), MaxLive: 5, Ceiling: func() int { return ceiling },
		}
		w, err := waits.Of(t.Context(), standing(func(s *lists.Standing) { s.Queue = "" }))
		require.NoError(t, err)
		require.Contains(t, w.GetMessage(), text)
	}
}

func TestActionsThatDoNotWait(t *testing.T) {
	for name, change := range map[string]func(*lists.Standing){
		"running":   func(s *lists.Standing) { s.Phase = state.Running },
		"succeeded": func(s *lists.Standing) { s.Phase = state.Succeeded },
		"trace":     func(s *lists.Standing) { s.ActionType = int16(workflow.ActionType_ACTION_TYPE_TRACE) },
		"condition, ended": func(s *lists.Standing) {
			s.ActionType, s.Phase = int16(workflow.ActionType_ACTION_TYPE_CONDITION), state.Succeeded
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := (&insight.Waits{Queues: queues.New(nil)}).Of(t.Context(), standing(change))
			require.NoError(t, err)
			require.Nil(t, w)
		})
	}
}

// The newest event of the attempt says what the cluster lacks; what was reported of an earlier attempt does not.
func TestClusterWaitTellsTheNewestEvent(t *testing.T) {
	admitted := time.Date(2026, time.July, 1, 1, 0, 0, 0, time.UTC)
	reported := func(attempt int32, message string, at time.Time) schema.Event {
		body, err := proto.Marshal(&workflow.ActionEvent{ClusterEvents: []*workflow.ClusterEvent{{Message: message}}})
		require.NoError(t, err)
		return schema.Event{Attempt: attempt, Event: body, RecordedAt: at}
	}
	w, err := (&insight.Waits{Queues: queues.New(nil)}).Of(t.Context(), standing(func(s *lists.Standing) {
		s.AdmittedAt, s.Phase, s.Attempt = &admitted, state.WaitingForResources, 2
		s.Events = []schema.Event{
			reported(2, "no node has a GPU", admitted.Add(2*time.Minute)), reported(2, "older", admitted.Add(time.Minute)), reported(1, "lost", admitted),
		}
	}))
	require.NoError(t, err)
	require.Equal(t, insightv1.WaitCause_WAIT_CAUSE_CLUSTER, w.GetCause())
	require.Contains(t, w.GetMessage(), "no node has a GPU")
	require.NotContains(t, w.GetMessage(), "lost")
}

// What the executor says of the phase takes precedence over Events of the cluster, which say only that something happened.
func TestClusterWaitPrefersTheExecutor(t *testing.T) {
	admitted := time.Date(2026, time.July, 1, 1, 0, 0, 0, time.UTC)
	reported := func(phase int16, events ...*workflow.ClusterEvent) schema.Event {
		body, err := proto.Marshal(&workflow.ActionEvent{ClusterEvents: events})
		require.NoError(t, err)
		return schema.Event{Attempt: 1, Phase: phase, Event: body, RecordedAt: admitted}
	}
	event := func(source, message string) *workflow.ClusterEvent {
		return &workflow.ClusterEvent{SourceComponent: source, Message: message}
	}
	for name, tc := range map[string]struct {
		events []schema.Event // the newest first
		want   string
	}{
		"in the same report": {
			[]schema.Event{reported(state.WaitingForResources, event("executor", "no quota"), event("job-controller", "Job suspended"))}, "no quota",
		},
		"in an earlier report": {[]schema.Event{
			reported(state.WaitingForResources, event("job-controller", "Job suspended")),
			reported(state.WaitingForResources, event("executor", "no quota")),
		}, "no quota"},
		"of another phase": {[]schema.Event{
			reported(state.WaitingForResources, event("job-controller", "Job suspended")), reported(state.Queued, event("executor", "not yet seen")),
		}, "Job suspended"},
	} {
		w, err := (&insight.Waits{Queues: queues.New(nil)}).Of(t.Context(), standing(func(s *lists.Standing) {
			s.AdmittedAt, s.Phase, s.Attempt, s.Events = &admitted, state.WaitingForResources, 1, tc.events
		}))
		require.NoError(t, err, name)
		require.Equal(t, "the cluster has no place for it yet: "+tc.want, w.GetMessage(), name)
	}
}

// Notes on the action do not answer why the cluster does not run it.
func TestNotesAreNoReasonToWait(t *testing.T) {
	admitted := time.Date(2026, time.July, 1, 1, 0, 0, 0, time.UTC)
	body, err := protomap.Notes([]protomap.Note{{Reason: "NotHonoured", Message: "a field without effect"}}, admitted)
	require.NoError(t, err)
	w, err := (&insight.Waits{Queues: queues.New(nil)}).Of(t.Context(), standing(func(s *lists.Standing) {
		s.AdmittedAt, s.Phase = &admitted, state.WaitingForResources
		s.Events = []schema.Event{{Attempt: s.Attempt, Event: body, RecordedAt: admitted}}
	}))
	require.NoError(t, err)
	require.NotContains(t, w.GetMessage(), "notified")
}
