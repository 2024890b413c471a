package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// triggers reads the triggers of the storm with their slots.
func (c *collector) triggers(ctx context.Context, conn *pgx.Conn) ([]check.Trigger, error) {
	known, planned := c.driver.triggers, c.driver.plan.triggers
	plain, _ := everySlot()
	all := []check.Trigger{{
		Name: cronTrigger, Start: known.backfillFrom, Policy: plain, BackfillFrom: known.backfillFrom, BackfillUntil: known.backfillUntil,
	}}
	for _, rate := range planned.rates {
		all = append(all, check.Trigger{Name: rate.name, Start: known.start.Add(rate.start), Policy: rate.policy})
	}
	for i := range all {
		t := &all[i]
		t.Period, t.Until, t.Latest = period, known.until, known.latest
		var id int64
		err := conn.QueryRow(ctx, `SELECT t.id, r.deployed_at FROM triggers t JOIN trigger_revisions r ON r.trigger_id = t.id AND r.revision = 1
			WHERE t.project = $1 AND t.domain = $2 AND t.task_name = $3 AND t.name = $4`,
			planned.node.Tenant.Project(), script.Domain, c.driver.plan.triggered(), t.Name).Scan(&id, &t.From)
		if err != nil {
			return nil, fmt.Errorf("read the trigger %s: %w", t.Name, err)
		}
		rows, err := conn.Query(ctx, `SELECT slot, recorded_at, state, run_name, reason FROM trigger_fires WHERE trigger_id = $1`, id)
		if err != nil {
			return nil, fmt.Errorf("read slots: %w", err)
		}
		if t.Fires, err = pgx.CollectRows(rows, pgx.RowToStructByPos[check.Fire]); err != nil {
			return nil, fmt.Errorf("read slots: %w", err)
		}
		if i > 0 && t.From.Before(t.Start) {
			t.From = t.Start.Add(-time.Microsecond) // the first slot
		}
	}
	return all, nil
}

// triggeredRuns finds the runs of the triggers, as they themselves say what made them.
func (c *collector) triggeredRuns(ctx context.Context, conn *pgx.Conn) ([]check.Run, error) {
	// Events are only inserted, and the ids of transactions grow whatever clocks show.
	rows, err := conn.Query(ctx, `SELECT a.run_name, a.trigger_name, a.run_start_time, a.ended_at, a.abort_reason LIKE 'replaced by %',
			coalesce((SELECT e.xmin::text::bigint FROM action_events e WHERE e.run_id = a.id AND e.seq = 1), 0),
			coalesce((SELECT max(e.xmin::text::bigint) FROM action_events e WHERE e.run_id = a.id AND e.action_id = a.id AND e.phase = ANY($4)), 0)
		FROM actions a WHERE a.project = $1 AND a.domain = $2 AND a.parent_name IS NULL AND a.trigger_task_name = $3`,
		c.driver.plan.triggers.node.Tenant.Project(), script.Domain, c.driver.plan.triggered(), []int16{check.Succeeded, check.Failed, check.Aborted, check.TimedOut})
	if err != nil {
		return nil, fmt.Errorf("read the runs of triggers: %w", err)
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (check.Run, error) {
		run := check.Run{Acknowledged: true, Script: c.driver.plan.triggers.node, Rules: []check.Rule{everyRun()}}
		var ended *time.Time
		var replaced bool
		err := row.Scan(&run.Name, &run.Trigger, &run.Slot, &ended, &replaced, &run.Born, &run.Died)
		if replaced && ended != nil {
			run.Aborts = []check.Abort{{Action: "a0", At: *ended}}
		}
		return run, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the runs of triggers: %w", err)
	}
	return runs, nil
}
