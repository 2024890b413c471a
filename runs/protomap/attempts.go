package protomap

import (
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Attempts builds the history of each attempt of an action from its events, in log order. Lost attempts have their
// own error, phases and times. The newest attempt agrees with the row.
func Attempts(a *schema.Action, events []schema.Event) ([]*workflow.ActionAttempt, error) {
	byNumber := map[int32]*merge{}
	var numbers []int32
	for i := range events {
		number := max(events[i].Attempt, 1)
		m := byNumber[number]
		if m == nil {
			m = newMerge(number)
			byNumber[number] = m
			numbers = append(numbers, number)
		}
		if err := m.add(a, &events[i]); err != nil {
			return nil, err
		}
	}
	current := max(a.Attempt, 1)
	// Its first event may not have come yet.
	if byNumber[current] == nil {
		byNumber[current] = newMerge(current)
		numbers = append(numbers, current)
	}
	slices.Sort(numbers)
	out := make([]*workflow.ActionAttempt, 0, len(numbers))
	for _, number := range numbers {
		m := byNumber[number]
		if number == current {
			if err := m.complete(a); err != nil {
				return nil, err
			}
		}
		out = append(out, m.finish())
	}
	return out, nil
}

// Terminal is state.Terminal for a phase as the contract writes it.
func Terminal(phase common.ActionPhase) bool { return state.Terminal(state.Phase(phase)) } //nolint:gosec // an enum of few values

// merge collects the events of one attempt. last is the time of its newest step; logs are by name, and a later event
// replaces what an earlier one said of a log.
type merge struct {
	attempt *workflow.ActionAttempt
	logs    map[string]*core.TaskLog
	seen    map[clusterEventKey]bool
	last    time.Time
}

type clusterEventKey struct {
	at              int64
	reason, message string
}

func newMerge(number int32) *merge {
	return &merge{
		attempt: &workflow.ActionAttempt{Attempt: uint32(number)}, //nolint:gosec // counts from 1
		logs:    map[string]*core.TaskLog{},
		seen:    map[clusterEventKey]bool{},
	}
}

func (m *merge) add(a *schema.Action, row *schema.Event) error {
	var event workflow.ActionEvent
	if err := decode(a, row.Event, &event); err != nil {
		return err
	}
	ended := Terminal(m.attempt.GetPhase())
	if !ended {
		m.step(common.ActionPhase(row.Phase), moment(&event, row))
		if status := event.GetCacheStatus(); status != core.CatalogCacheStatus_CACHE_DISABLED {
			m.attempt.CacheStatus = status
		}
		if event.GetErrorInfo() != nil {
			m.attempt.ErrorInfo = event.GetErrorInfo()
		}
		if len(row.Error) > 0 {
			var full core.ExecutionError
			if err := decode(a, row.Error, &full); err != nil {
				return err
			}
			m.attempt.ErrorInfo = ErrorInfo(&full)
		}
	}
	m.details(&event, ended)
	return nil
}

// moment is when the executor observed what it reports, or else when the event was recorded.
func moment(event *workflow.ActionEvent, row *schema.Event) time.Time {
	for _, at := range []*timestamppb.Timestamp{event.GetUpdatedTime(), event.GetReportedTime()} {
		if at.IsValid() && at.AsTime().Unix() > 0 {
			return at.AsTime()
		}
	}
	return row.RecordedAt
}

// step enters a phase. Times never go backwards, whatever clocks the events carry. Another observation of the same phase moves
// nothing: it may be later than the start of the next phase, as its machine reports it.
func (m *merge) step(phase common.ActionPhase, at time.Time) {
	transitions := m.attempt.GetPhaseTransitions()
	if m.attempt.GetPhase() == phase && len(transitions) > 0 {
		return
	}
	at = later(at, m.last)
	m.last = at
	stamp := timestamppb.New(at)
	if m.attempt.GetStartTime() == nil {
		m.attempt.StartTime = stamp
	}
	if len(transitions) > 0 {
		transitions[len(transitions)-1].EndTime = stamp
	}
	m.attempt.PhaseTransitions = append(transitions, &workflow.PhaseTransition{Phase: phase, StartTime: stamp})
	m.attempt.Phase = phase
	if Terminal(phase) {
		m.attempt.EndTime = stamp
		transitions := m.attempt.GetPhaseTransitions()
		transitions[len(transitions)-1].EndTime = stamp
	}
}

// details takes the newer data of later events, and after the end what they still add.
func (m *merge) details(event *workflow.ActionEvent, ended bool) {
	if event.GetCluster() != "" {
		m.attempt.Cluster = event.GetCluster()
	}
	if event.GetLogContext() != nil {
		m.attempt.LogContext = event.GetLogContext()
	}
	if event.GetCacheMetadata() != nil {
		m.attempt.CacheMetadata = event.GetCacheMetadata()
	}
	for _, log := range event.GetLogInfo() {
		m.logs[log.GetName()] = log
	}
	if outputs := event.GetOutputs(); outputs != nil {
		m.outputs(outputs, ended)
	}
	for _, happening := range event.GetClusterEvents() {
		key := clusterEventKey{happening.GetOccurredAt().AsTime().UnixNano(), happening.GetReason(), happening.GetMessage()}
		if !m.seen[key] {
			m.seen[key] = true
			m.attempt.ClusterEvents = append(m.attempt.ClusterEvents, happening)
		}
	}
}

// outputs takes references of an event. After the end, it only fills in what is missing: the outputs of a terminal
// phase are final.
func (m *merge) outputs(outputs *task.OutputReferences, ended bool) {
	merged := m.attempt.GetOutputs()
	if merged == nil {
		merged = &task.OutputReferences{}
		m.attempt.Outputs = merged
	}
	if outputs.GetOutputUri() != "" && (!ended || merged.GetOutputUri() == "") {
		merged.OutputUri = outputs.GetOutputUri()
	}
	if outputs.GetReportUri() != "" {
		merged.ReportUri = outputs.GetReportUri()
	}
}

// complete brings the newest attempt in line with the row, for ends without an event: aborts, traces, signals.
func (m *merge) complete(a *schema.Action) error {
	phase := common.ActionPhase(a.Phase)
	if m.attempt.GetStartTime() == nil {
		m.step(phase, a.CreatedAt)
	}
	if m.attempt.GetPhase() != phase {
		at := a.UpdatedAt
		if a.EndedAt != nil {
			at = *a.EndedAt
		}
		m.step(phase, at)
	}
	if Terminal(phase) && a.EndedAt != nil && m.attempt.GetEndTime().AsTime().Before(*a.EndedAt) && len(m.attempt.GetPhaseTransitions()) == 1 {
		// Recorded together with its end, as a trace is.
		m.attempt.EndTime = timestamppb.New(*a.EndedAt)
		m.attempt.PhaseTransitions[0].EndTime = m.attempt.GetEndTime()
	}
	if m.attempt.GetCacheStatus() == core.CatalogCacheStatus_CACHE_DISABLED {
		m.attempt.CacheStatus = core.CatalogCacheStatus(a.CacheStatus)
	}
	if Terminal(phase) && m.attempt.GetErrorInfo() == nil && len(a.Error) > 0 {
		var stored core.ExecutionError
		if err := decode(a, a.Error, &stored); err != nil {
			return err
		}
		m.attempt.ErrorInfo = ErrorInfo(&stored)
	}
	if uri := OutputsURI(a); uri != "" && m.attempt.GetOutputs().GetOutputUri() == "" {
		m.outputs(&task.OutputReferences{OutputUri: uri, ReportUri: a.ReportURI}, false)
	}
	return nil
}

// finish completes the message. Maps have no order, so the logs are sorted: the same rows give the same message.
func (m *merge) finish() *workflow.ActionAttempt {
	for _, log := range m.logs {
		m.attempt.LogInfo = append(m.attempt.LogInfo, log)
	}
	slices.SortFunc(m.attempt.GetLogInfo(), func(x, y *core.TaskLog) int { return strings.Compare(x.GetName(), y.GetName()) })
	m.attempt.LogsAvailable = m.attempt.GetLogContext() != nil
	return m.attempt
}

// OutputsURI returns the file with the outputs of an action, or an empty string. For tasks the row has the directory
// of the attempt, for traces the file itself.
func OutputsURI(a *schema.Action) string {
	phase := common.ActionPhase(a.Phase)
	if phase != common.ActionPhase_ACTION_PHASE_SUCCEEDED && phase != common.ActionPhase_ACTION_PHASE_RECOVERED {
		return ""
	}
	uri := a.OutputURI
	if uri == "" || workflow.ActionType(a.ActionType) == workflow.ActionType_ACTION_TYPE_CONDITION {
		return ""
	}
	if workflow.ActionType(a.ActionType) == workflow.ActionType_ACTION_TYPE_TRACE || strings.HasSuffix(uri, "/"+blobpath.OutputsFile) {
		return uri
	}
	return strings.TrimRight(uri, "/") + "/" + blobpath.OutputsFile
}
