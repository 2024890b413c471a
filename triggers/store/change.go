package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// Change is a decided change of a trigger.
type Change struct {
	// Trigger is the new row; with ID 0 it is inserted.
	Trigger *Trigger
	// Action is the trigger.TriggerRevisionAction of a new revision; 0 when the change makes none.
	Action int16
	// Fires are slots to pick up. One that was picked up before is left as it is.
	Fires []Fire
	// Artifact is the artifact that the trigger waits for, if its automation is one.
	Artifact string
}

// ChangeTasks changes triggers of some tasks in one transaction. decide gets all triggers of the tasks, deleted ones too,
// under lock, and returns what changes; after an error nothing has changed. Changes of a task wait for each other. A change
// of what a trigger waits for requires a mark of the events of artifacts, and returns ErrNoMark without one.
func (s *Store) ChangeTasks(ctx context.Context, tasks []Task, mark *int64, decide func([]*Trigger) ([]Change, error)) error {
	tasks = slices.Clone(tasks)
	slices.SortFunc(tasks, func(a, b Task) int {
		return cmp.Or(cmp.Compare(a.Project, b.Project), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Name, b.Name))
	})
	tasks = slices.Compact(tasks)
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		var found []*Trigger
		before := map[int64]*Trigger{}
		for _, task := range tasks {
			// A trigger that does not exist yet has no row to lock.
			key := fmt.Sprintf("trigger %q", []string{task.Project, task.Domain, task.Name})
			if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, key); err != nil {
				return err
			}
			rows, err := readTriggers(ctx, tx, `SELECT `+triggerColumns+` FROM triggers t
				WHERE t.project = $1 AND t.domain = $2 AND t.task_name = $3 ORDER BY t.id FOR UPDATE`, task.Project, task.Domain, task.Name)
			if err != nil {
				return err
			}
			found = append(found, rows...)
			for _, t := range rows {
				copied := *t
				before[t.ID] = &copied
			}
		}
		changes, err := decide(found)
		if err != nil || len(changes) == 0 {
			return err
		}
		for _, change := range changes {
			if err := s.write(ctx, tx, change); err != nil {
				return err
			}
			if err := s.writeWatch(ctx, tx, before[change.Trigger.ID], change, mark); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `SELECT pg_notify($1, '')`, Channel)
		return err
	})
	if err != nil {
		return fmt.Errorf("change triggers: %w", err)
	}
	return nil
}

// TakeDue picks up due triggers, the longest due first, in one transaction: decide returns the slots of each and its next
// one. Triggers that another process works on are left out. It returns how many there were.
func (s *Store) TakeDue(ctx context.Context, now time.Time, limit int, decide func(*Trigger) Change) (int, error) {
	count := 0
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		due, err := readTriggers(ctx, tx, `SELECT `+triggerColumns+` FROM triggers t WHERE t.next_fire_at <= $1
			ORDER BY t.next_fire_at LIMIT $2 FOR UPDATE SKIP LOCKED`, now, limit)
		if err != nil || len(due) == 0 {
			return err
		}
		count = len(due)
		batch := &pgx.Batch{}
		for _, t := range due {
			change := decide(t)
			batch.Queue(`UPDATE triggers SET triggered_at = $2, next_slot = $3, next_fire_at = $4 WHERE id = $1`,
				t.ID, change.Trigger.TriggeredAt, change.Trigger.NextSlot, change.Trigger.NextFireAt)
			for i := range change.Fires {
				queueFire(batch, &change.Fires[i])
			}
		}
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return 0, fmt.Errorf("claim due triggers: %w", err)
	}
	return count, nil
}

func readTriggers(ctx context.Context, tx pgx.Tx, query string, args ...any) ([]*Trigger, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Trigger, error) {
		t := &Trigger{}
		return t, row.Scan(t.targets()...)
	})
}

func (s *Store) write(ctx context.Context, tx pgx.Tx, change Change) error {
	if err := s.writeTrigger(ctx, tx, change); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	for i := range change.Fires {
		change.Fires[i].TriggerID = change.Trigger.ID
		queueFire(batch, &change.Fires[i])
	}
	return tx.SendBatch(ctx, batch).Close()
}

func (s *Store) writeTrigger(ctx context.Context, tx pgx.Tx, change Change) error {
	t := change.Trigger
	columns := []any{
		t.Project, t.Domain, t.Task.Name, t.Name, t.Revision, t.Active, t.Switched, t.WithTask, t.AutomationType, t.Automation, t.Spec,
		t.TaskVersion, t.Description, t.DeployedBy, t.UpdatedBy, t.DeployedAt, t.UpdatedAt, t.TriggeredAt, t.DeletedAt, t.Anchor,
		t.NextSlot, t.NextFireAt,
	}
	const names = `project, domain, task_name, name, revision, active, switched, with_task, automation_type, automation, spec,
		task_version, description, deployed_by, updated_by, deployed_at, updated_at, triggered_at, deleted_at, anchor, next_slot, next_fire_at`
	const values = `$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22`
	if t.ID == 0 {
		if err := tx.QueryRow(ctx, `INSERT INTO triggers (`+names+`) VALUES (`+values+`) RETURNING id`, columns...).Scan(&t.ID); err != nil {
			return err
		}
	} else if _, err := tx.Exec(ctx, `UPDATE triggers SET (`+names+`) = (`+values+`) WHERE id = $23`, append(columns, t.ID)...); err != nil {
		return err
	}
	if change.Action == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO trigger_revisions (trigger_id, revision, action, active, automation, spec, task_version, description, deployed_by,
			updated_by, deployed_at, updated_at, triggered_at, deleted_at, created_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
		t.ID, t.Revision, change.Action, t.Active, t.Automation, t.Spec, t.TaskVersion, t.Description, t.DeployedBy,
		t.UpdatedBy, t.DeployedAt, t.UpdatedAt, t.TriggeredAt, t.DeletedAt, s.clock.Now())
	return err
}

func queueFire(batch *pgx.Batch, f *Fire) {
	batch.Queue(`
		INSERT INTO trigger_fires (trigger_id, slot, cause, revision, state, reason, run_name, retry_at, recorded_at, settled_at, backfill_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
		f.TriggerID, f.Slot, f.Cause, f.Revision, f.State, f.Reason, f.RunName, f.RetryAt, f.RecordedAt, f.SettledAt, f.BackfillID)
}
