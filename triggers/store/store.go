// Package store keeps triggers, their revisions and their slots in Postgres. It decides nothing: callers pass functions
// that judge rows under lock. It serves triggers and knows no messages of the contract but list requests.
package store

import (
	"embed"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// LeaseTable is the table of the service's leases.
	LeaseTable = "trigger_leases"
	// Channel is where changes are announced that may be due earlier than what the scheduler waits for.
	Channel = "flyte_triggers"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the service's tables. They may share a database with those of other services.
func Schema() pgdb.Schema { return pgdb.Embedded("triggers", migrations) }

// Store reads and writes triggers.
type Store struct {
	pool  *pgxpool.Pool
	clock clock.Clock
}

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool, clk clock.Clock) *Store { return &Store{pool: pool, clock: clk} }

// Task names the task of triggers.
type Task struct{ Project, Domain, Name string }

// Trigger is a row of triggers.
type Trigger struct {
	ID int64
	Task
	Name           string
	Revision       int64
	Active         bool
	Switched       *bool
	WithTask       bool
	AutomationType int16
	Automation     []byte
	Spec           []byte
	TaskVersion    string
	Description    string
	DeployedBy     []byte
	UpdatedBy      []byte
	DeployedAt     time.Time
	UpdatedAt      time.Time
	TriggeredAt    *time.Time
	DeletedAt      *time.Time
	Anchor         time.Time
	NextSlot       *time.Time
	NextFireAt     *time.Time
}

// Columns and targets in the same order.
const triggerColumns = `t.id, t.project, t.domain, t.task_name, t.name, t.revision, t.active, t.switched, t.with_task,
	t.automation_type, t.automation, t.spec, t.task_version, t.description, t.deployed_by, t.updated_by, t.deployed_at,
	t.updated_at, t.triggered_at, t.deleted_at, t.anchor, t.next_slot, t.next_fire_at`

func (t *Trigger) targets() []any {
	return []any{
		&t.ID, &t.Project, &t.Domain, &t.Task.Name, &t.Name, &t.Revision, &t.Active, &t.Switched, &t.WithTask,
		&t.AutomationType, &t.Automation, &t.Spec, &t.TaskVersion, &t.Description, &t.DeployedBy, &t.UpdatedBy, &t.DeployedAt,
		&t.UpdatedAt, &t.TriggeredAt, &t.DeletedAt, &t.Anchor, &t.NextSlot, &t.NextFireAt,
	}
}

// State is the state of a slot; the numbers are those of insightv1.SlotState.
type State int16

// The states.
const (
	Pending State = 1
	Started State = 2
	Failed  State = 3
	Skipped State = 4
)

// Fire is a slot that was picked up, or a version of an artifact: a row of trigger_fires. TriggerID, Slot and Cause identify
// it.
type Fire struct {
	TriggerID int64
	// Slot is the time of the schedule, or that of the version.
	Slot time.Time
	// Cause names the version, as NAME@VERSION; empty for a schedule.
	Cause      string
	Revision   int64
	State      State
	Reason     string
	RunName    string
	Attempts   int32
	RetryAt    *time.Time
	Live       bool
	RecordedAt time.Time
	SettledAt  *time.Time
	BackfillID *int64
}

const fireColumns = `f.trigger_id, f.slot, f.cause, f.revision, f.state, f.reason, f.run_name, f.attempts, f.retry_at, f.live, f.recorded_at,
	f.settled_at, f.backfill_id`

func (f *Fire) targets() []any {
	return []any{
		&f.TriggerID, &f.Slot, &f.Cause, &f.Revision, &f.State, &f.Reason, &f.RunName, &f.Attempts, &f.RetryAt, &f.Live, &f.RecordedAt,
		&f.SettledAt, &f.BackfillID,
	}
}
