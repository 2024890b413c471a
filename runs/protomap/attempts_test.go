package protomap_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	queued    = int16(common.ActionPhase_ACTION_PHASE_QUEUED)
	starting  = int16(common.ActionPhase_ACTION_PHASE_INITIALIZING)
	running   = int16(common.ActionPhase_ACTION_PHASE_RUNNING)
	succeeded = int16(common.ActionPhase_ACTION_PHASE_SUCCEEDED)
	failed    = int16(common.ActionPhase_ACTION_PHASE_FAILED)
	aborted   = int16(common.ActionPhase_ACTION_PHASE_ABORTED)
	timedOut  = int16(common.ActionPhase_ACTION_PHASE_TIMED_OUT)
)

var begin = time.Date(2026, time.June, 1, 2, 3, 4, 5678000, time.UTC)

func at(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }

func stamp(ms int) *timestamppb.Timestamp { return timestamppb.New(at(ms)) }

func encode(t *testing.T, message proto.Message) []byte {
	t.Helper()
	body, err := proto.Marshal(message)
	require.NoError(t, err)
	return body
}

// row is an event of the log, reported ms after the beginning; report is nil for changes that no executor reported.
func row(t *testing.T, attempt int32, phase int16, ms int, report *workflow.ActionEvent, failure *core.ExecutionError) schema.Event {
	t.Helper()
	event := schema.Event{Attempt: attempt, Phase: phase, RecordedAt: at(ms + 3)}
	if report != nil {
		report.UpdatedTime = stamp(ms)
		event.Event = encode(t, report)
	}
	if failure != nil {
		event.Error = encode(t, failure)
	}
	return event
}

func action(phase int16, attempt int32, endMs int) *schema.Action {
	a := &schema.Action{
		Project: "p", Domain: "d", RunName: "r", Name: "a1", ActionType: 1, Phase: phase, Attempt: attempt,
		CreatedAt: begin, UpdatedAt: at(endMs),
	}
	if protomap.Terminal(common.ActionPhase(phase)) {
		end := at(endMs)
		a.EndedAt = &end
	}
	return a
}

// TestALateObservationMovesNoPhase: what is seen of a phase when the next one has long begun does not shorten that one.
func TestALateObservationMovesNoPhase(t *testing.T) {
	attempts, err := protomap.Attempts(action(succeeded, 1, 500), []schema.Event{
		row(t, 1, queued, 0, nil, nil),
		row(t, 1, starting, 100, &workflow.ActionEvent{}, nil),
		row(t, 1, starting, 600, &workflow.ActionEvent{Version: 1, ClusterEvents: []*workflow.ClusterEvent{{Message: "ContainerCreating"}}}, nil),
		row(t, 1, running, 200, &workflow.ActionEvent{}, nil),
		row(t, 1, succeeded, 500, &workflow.ActionEvent{}, nil),
	})
	require.NoError(t, err)
	require.Equal(t, []string{"QUEUED 3-100", "INITIALIZING 100-200", "RUNNING 200-500", "SUCCEEDED 500-500"}, transitions(attempts[0]))
}

// TestAttemptsOfARetriedAction: the lost attempt keeps its own error, logs, phases and times.
func TestAttemptsOfARetriedAction(t *testing.T) {
	logs := func(pod string) *core.LogContext { return &core.LogContext{PrimaryPodName: pod} }
	a := action(succeeded, 2, 900)
	a.OutputURI = "/data/a1/2"
	attempts, err := protomap.Attempts(a, []schema.Event{
		row(t, 1, queued, 0, nil, nil),
		row(t, 1, starting, 100, &workflow.ActionEvent{ClusterEvents: []*workflow.ClusterEvent{{Message: "pulled", OccurredAt: stamp(90)}}}, nil),
		row(t, 1, running, 200, &workflow.ActionEvent{LogContext: logs("pod-0"), Cluster: "c"}, nil),
		row(t, 1, running, 300, &workflow.ActionEvent{
			Version: 1, LogInfo: []*core.TaskLog{{Name: "z"}, {Name: "b", Uri: "old"}},
			ClusterEvents: []*workflow.ClusterEvent{{Message: "pulled", OccurredAt: stamp(90)}, {Message: "evicted", OccurredAt: stamp(290)}},
		}, nil),
		row(t, 1, failed, 400, &workflow.ActionEvent{LogInfo: []*core.TaskLog{{Name: "b", Uri: "new"}}},
			&core.ExecutionError{Code: "OOMKilled", Message: "too much memory", Kind: core.ExecutionError_USER}),
		row(t, 2, queued, 400, nil, nil),
		row(t, 2, running, 500, &workflow.ActionEvent{LogContext: logs("pod-1")}, nil),
		row(t, 2, succeeded, 900, &workflow.ActionEvent{Outputs: &task.OutputReferences{OutputUri: "/data/a1/2/outputs.pb", ReportUri: "/data/a1/2/report.html"}}, nil),
	})
	require.NoError(t, err)
	require.Len(t, attempts, 2)

	lost := attempts[0]
	require.Equal(t, uint32(1), lost.GetAttempt())
	require.Equal(t, common.ActionPhase_ACTION_PHASE_FAILED, lost.GetPhase())
	require.Equal(t, at(3), lost.GetStartTime().AsTime(), "what no executor reported counts when it was recorded")
	require.Equal(t, at(400), lost.GetEndTime().AsTime())
	require.True(t, proto.Equal(&workflow.ErrorInfo{Code: "OOMKilled", Message: "too much memory", Kind: workflow.ErrorInfo_KIND_USER}, lost.GetErrorInfo()))
	require.Equal(t, "pod-0", lost.GetLogContext().GetPrimaryPodName(), "an event without logs does not hide them")
	require.True(t, lost.GetLogsAvailable())
	require.Equal(t, "c", lost.GetCluster())
	require.Equal(t, []string{"b:new", "z:"}, logNames(lost))
	require.Equal(t, []string{"pulled", "evicted"}, messages(lost))
	require.Equal(t, []string{"QUEUED 3-100", "INITIALIZING 100-200", "RUNNING 200-400", "FAILED 400-400"}, transitions(lost))
	require.Nil(t, lost.GetOutputs())

	last := attempts[1]
	require.Equal(t, common.ActionPhase_ACTION_PHASE_SUCCEEDED, last.GetPhase())
	require.Nil(t, last.GetErrorInfo())
	require.Equal(t, "/data/a1/2/outputs.pb", last.GetOutputs().GetOutputUri())
	require.Equal(t, "/data/a1/2/report.html", last.GetOutputs().GetReportUri())
	require.Equal(t, []string{"QUEUED 403-500", "RUNNING 500-900", "SUCCEEDED 900-900"}, transitions(last))
}

func TestAttemptsAgreeWithTheRow(t *testing.T) {
	t.Run("no events", func(t *testing.T) {
		attempts, err := protomap.Attempts(action(queued, 1, 0), nil)
		require.NoError(t, err)
		require.Len(t, attempts, 1)
		require.Equal(t, []string{"QUEUED 0-"}, transitions(attempts[0]))
	})
	t.Run("abort without an event", func(t *testing.T) {
		attempts, err := protomap.Attempts(action(aborted, 1, 500), []schema.Event{row(t, 1, running, 100, &workflow.ActionEvent{}, nil)})
		require.NoError(t, err)
		require.Equal(t, []string{"RUNNING 100-500", "ABORTED 500-500"}, transitions(attempts[0]))
		require.Equal(t, at(500), attempts[0].GetEndTime().AsTime())
	})
	t.Run("a trace", func(t *testing.T) {
		a := action(succeeded, 1, 500)
		a.ActionType, a.OutputURI = 2, "/data/t/outputs.pb"
		attempts, err := protomap.Attempts(a, []schema.Event{row(t, 1, succeeded, 0, nil, nil)})
		require.NoError(t, err)
		require.Equal(t, "/data/t/outputs.pb", attempts[0].GetOutputs().GetOutputUri())
		require.Equal(t, at(500), attempts[0].GetEndTime().AsTime())
	})
	t.Run("clocks that run backwards", func(t *testing.T) {
		attempts, err := protomap.Attempts(action(running, 1, 0), []schema.Event{
			row(t, 1, queued, 1000, &workflow.ActionEvent{}, nil),
			row(t, 1, running, 400, &workflow.ActionEvent{}, nil),
		})
		require.NoError(t, err)
		require.Equal(t, []string{"QUEUED 1000-1000", "RUNNING 1000-"}, transitions(attempts[0]))
	})
	t.Run("more events than a page", func(t *testing.T) {
		var events []schema.Event
		for i := range 2000 {
			events = append(events, row(t, int32(i/4+1), []int16{queued, starting, running, failed}[i%4], i, &workflow.ActionEvent{},
				map[bool]*core.ExecutionError{true: {Message: "lost"}}[i%4 == 3]))
		}
		attempts, err := protomap.Attempts(action(failed, 500, 2000), events)
		require.NoError(t, err)
		require.Len(t, attempts, 500)
		for _, attempt := range attempts {
			require.Equal(t, "lost", attempt.GetErrorInfo().GetMessage())
		}
	})
}

func TestResult(t *testing.T) {
	spec := encode(t, &task.TaskSpec{ShortName: "s"})
	details := func(t *testing.T, a *schema.Action, events ...schema.Event) *workflow.ActionDetails {
		t.Helper()
		d, err := protomap.Details(a, spec, events)
		require.NoError(t, err)
		return d
	}
	t.Run("failed", func(t *testing.T) {
		a := action(failed, 1, 10)
		a.Error = encode(t, &core.ExecutionError{Message: "boom", Code: "E", Kind: core.ExecutionError_SYSTEM})
		info := details(t, a).GetErrorInfo()
		require.Equal(t, []any{"boom", "E", workflow.ErrorInfo_KIND_SYSTEM}, []any{info.GetMessage(), info.GetCode(), info.GetKind()})
		require.Equal(t, "boom", details(t, a).GetAttempts()[0].GetErrorInfo().GetMessage())
	})
	t.Run("failed, known from the event only", func(t *testing.T) {
		event := row(t, 1, failed, 10, &workflow.ActionEvent{ErrorInfo: &workflow.ErrorInfo{Message: "boom"}}, nil)
		require.Equal(t, "boom", details(t, action(failed, 1, 10), event).GetErrorInfo().GetMessage())
	})
	t.Run("timed out", func(t *testing.T) {
		require.NotEmpty(t, details(t, action(timedOut, 1, 10)).GetErrorInfo().GetMessage())
	})
	t.Run("aborted", func(t *testing.T) {
		a := action(aborted, 1, 10)
		a.AbortReason = "no more"
		a.AbortedBy = encode(t, &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_User{User: &common.User{Id: &common.UserIdentifier{Subject: "ann"}}}})
		info := details(t, a).GetAbortInfo()
		require.Equal(t, "no more", info.GetReason())
		require.Equal(t, "ann", info.GetAbortedBy().GetUser().GetId().GetSubject())
	})
	t.Run("condition", func(t *testing.T) {
		a := action(succeeded, 1, 10)
		a.ActionType, a.TaskName = 3, "approve"
		a.Signal = encode(t, &workflow.SignalInfo{Output: &core.Literal{Hash: "h"}})
		condition := encode(t, &workflow.ConditionAction{Name: "approve", Prompt: "ok?", Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}}})
		d, err := protomap.Details(a, condition, nil)
		require.NoError(t, err)
		require.Equal(t, "h", d.GetSignalInfo().GetOutput().GetHash())
		require.Equal(t, "ok?", d.GetCondition().GetPrompt())
		require.Equal(t, core.SimpleType_BOOLEAN, d.GetMetadata().GetCondition().GetType().GetSimple())
		require.Nil(t, d.GetAttempts()[0].GetOutputs(), "a signal is not a file")
	})
	t.Run("succeeded", func(t *testing.T) {
		d := details(t, action(succeeded, 1, 10))
		require.Nil(t, d.GetResult())
		require.Equal(t, "s", d.GetTask().GetShortName())
		require.Equal(t, uint64(10), d.GetStatus().GetDurationMs())
		require.Equal(t, begin, d.GetStatus().GetStartTime().AsTime(), "to the microsecond")
	})
	t.Run("still running", func(t *testing.T) {
		d := details(t, action(running, 1, 10))
		require.Nil(t, d.GetStatus().DurationMs)
		require.Nil(t, d.GetStatus().GetEndTime())
	})
	t.Run("damaged", func(t *testing.T) {
		_, err := protomap.Details(action(running, 1, 0), []byte{0xff}, nil)
		require.ErrorContains(t, err, "TaskSpec of action p/d/r/a1")
	})
}

func TestOutputsURI(t *testing.T) {
	for name, test := range map[string]struct {
		kind, phase  int16
		stored, want string
	}{
		"task":                      {1, succeeded, "/b/1", "/b/1/outputs.pb"},
		"task with a slash":         {1, succeeded, "/b/1/", "/b/1/outputs.pb"},
		"task that names the file":  {1, succeeded, "/b/1/outputs.pb", "/b/1/outputs.pb"},
		"recovered":                 {1, 10, "/b/1", "/b/1/outputs.pb"},
		"not yet":                   {1, running, "/b/1", ""},
		"failed":                    {1, failed, "/b/1", ""},
		"trace":                     {2, succeeded, "/b/any.pb", "/b/any.pb"},
		"condition":                 {3, succeeded, "/b/1", ""},
		"nothing was ever recorded": {1, succeeded, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, protomap.OutputsURI(&schema.Action{ActionType: test.kind, Phase: test.phase, OutputURI: test.stored}))
		})
	}
}

func transitions(attempt *workflow.ActionAttempt) []string {
	var out []string
	for _, step := range attempt.GetPhaseTransitions() {
		text := step.GetPhase().String()[len("ACTION_PHASE_"):] + " " + ms(step.GetStartTime()) + "-"
		if step.GetEndTime() != nil {
			text += ms(step.GetEndTime())
		}
		out = append(out, text)
	}
	return out
}

func ms(at *timestamppb.Timestamp) string {
	return strconv.FormatInt(at.AsTime().Sub(begin).Milliseconds(), 10)
}

func logNames(attempt *workflow.ActionAttempt) []string {
	var out []string
	for _, log := range attempt.GetLogInfo() {
		out = append(out, log.GetName()+":"+log.GetUri())
	}
	return out
}

func messages(attempt *workflow.ActionAttempt) []string {
	var out []string
	for _, event := range attempt.GetClusterEvents() {
		out = append(out, event.GetMessage())
	}
	return out
}
