package schema

import (
	"time"

	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// Action is a row of the actions table, without the columns that only a root has; see Root. Field names follow
// the columns; the schema says what each means.
type Action struct {
	ID               int64      `db:"id"`
	RunID            int64      `db:"run_id"`
	Project          string     `db:"project"`
	Domain           string     `db:"domain"`
	RunName          string     `db:"run_name"`
	Name             string     `db:"name"`
	ParentName       *string    `db:"parent_name"`
	ActionType       int16      `db:"action_type"`
	ActionGroup      string     `db:"action_group"`
	Phase            int16      `db:"phase"`
	Attempt          int32      `db:"attempt"`
	Version          int32      `db:"version"`
	CacheStatus      int16      `db:"cache_status"`
	AdmittedAt       *time.Time `db:"admitted_at"`
	LastSeq          int64      `db:"last_seq"`
	TaskProject      string     `db:"task_project"`
	TaskDomain       string     `db:"task_domain"`
	TaskName         string     `db:"task_name"`
	TaskVersion      string     `db:"task_version"`
	TaskType         string     `db:"task_type"`
	ShortName        string     `db:"short_name"`
	FunctionName     string     `db:"function_name"`
	EnvironmentName  string     `db:"environment_name"`
	SpecDigest       []byte     `db:"spec_digest"`
	InputURI         string     `db:"input_uri"`
	OutputURI        string     `db:"output_uri"`
	ReportURI        string     `db:"report_uri"`
	CacheKey         string     `db:"cache_key"`
	Queue            string     `db:"queue"`
	Cluster          string     `db:"cluster"` // set by the writer at admission; before that empty, or what the queue names
	AvoidCluster     string     `db:"avoid_cluster"`
	Placement        int32      `db:"placement"` // how often an attempt was taken back from a cluster
	Produces         bool       `db:"produces"`
	Priority         int32      `db:"priority"`
	Runner           Runner     `db:"runner"`
	Hold             Hold       `db:"hold"`
	QueuedUntil      *time.Time `db:"queued_until"`
	DeadlineAt       *time.Time `db:"deadline_at"`
	WakeAt           *time.Time `db:"wake_at"`
	Due              Due        `db:"due"`
	CacheReason      string     `db:"cache_reason"`
	Error            []byte     `db:"error"`
	AbortReason      string     `db:"abort_reason"`
	AbortedBy        []byte     `db:"aborted_by"`
	Signal           []byte     `db:"signal"`
	RecoveredFrom    []byte     `db:"recovered_from"`
	CreatedBy        []byte     `db:"created_by"`
	CreatedBySubject string     `db:"created_by_subject"`
	CreatedAt        time.Time  `db:"created_at"`
	StartedAt        *time.Time `db:"started_at"`
	EndedAt          *time.Time `db:"ended_at"`
	UpdatedAt        time.Time  `db:"updated_at"`
	Source           int16      `db:"source"`
	TriggerName      string     `db:"trigger_name"`
	TriggerTaskName  string     `db:"trigger_task_name"`
	TriggerRevision  int64      `db:"trigger_revision"`
	// TriggerAutomation is the encoded task.TriggerAutomationSpec of the revision.
	TriggerAutomation []byte `db:"trigger_automation"`
	Relation          []byte `db:"relation"`

	// Asks is what it asks of a cluster; nil if that is to be read from its specs. It is read only.
	Asks *placement.Request `db:"-"`
	// Limits become times when the action is recorded.
	Limits Limits `db:"-"`
	// Notes is the encoded workflow.ActionEvent that its first event has; nil for none.
	Notes []byte `db:"-"`
}

// Phases is how many phases there are, whose numbers count from 0.
const Phases = 11

// Root is what a root row has in addition to Action.
type Root struct {
	Action
	RunSpecDigest  []byte            `db:"run_spec_digest"`
	RequestDigest  []byte            `db:"request_digest"`
	RunOutputBase  string            `db:"run_output_base"`
	RunStartTime   *time.Time        `db:"run_start_time"`
	Labels         map[string]string `db:"labels"`
	MaxConcurrency int32             `db:"max_concurrency"`
	PausedCount    int32             `db:"paused_count"`
	// PhaseCounts is how many actions the run has in each phase, its root among them, after the event CountedSeq. A version that
	// does not count leaves both as they were.
	PhaseCounts  []int32 `db:"phase_counts"`
	CountedSeq   *int64  `db:"counted_seq"`
	RelationType int16   `db:"relation_type"`
	RelationRun  string  `db:"relation_run"`
	// Notify has a bit for each phase that the notification rules of the run name; see NotifyNone.
	Notify int32 `db:"notify"`
}

// Hold says what must be resolved before a queued task action may be admitted.
type Hold int16

// The holds.
const (
	HoldNone        Hold = 0
	HoldCache       Hold = 1 // its key must be looked up in the cache
	HoldReservation Hold = 2 // another action computes the same key
	HoldPlacement   Hold = 3 // no cluster has room for it, or takes it
)

// OfCache reports whether the cache resolves the hold.
func (h Hold) OfCache() bool { return h == HoldCache || h == HoldReservation }

// Event is a row of the action_events table.
type Event struct {
	RunID      int64     `db:"run_id"`
	Seq        int64     `db:"seq"`
	ActionID   int64     `db:"action_id"`
	Attempt    int32     `db:"attempt"`
	Phase      int16     `db:"phase"`
	Version    int32     `db:"version"`
	RecordedAt time.Time `db:"recorded_at"`
	Event      []byte    `db:"event"`
	Error      []byte    `db:"error"`
}

// SpecKind tells the messages of the specs table apart.
type SpecKind int16

// The kinds of spec.
const (
	SpecTask      SpecKind = 1 // task.TaskSpec
	SpecTrace     SpecKind = 2 // task.TraceSpec
	SpecCondition SpecKind = 3 // workflow.ConditionAction
	SpecRun       SpecKind = 4 // task.RunSpec
)
