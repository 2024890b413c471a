package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/faults/check"
	"github.com/flyte-binary/flyte-binary/faults/script"
)

// triggers reads the triggers of the storm with their slots.
func (c *collector) triggers(ctx context.Context, conn *pgx.Conn) ([]check.Trigger, error) {
	known, planned := c.driver.triggers, c.driver.plan.triggers
	all := []check.Trigger{{Name: cronTrigger, Start: known.backfillFrom, BackfillFrom: known.backfillFrom, BackfillUntil: known.backfillUntil}}
	for i, after := range planned.rates {
		all = append(all, check.Trigger{Name: rateTrigger(i), Start: known.start.Add(after)})
	}
	for i := range all {
		t := &all[i]
		t.Period, t.CatchUp, t.Until, t.Latest = period, catchUp, known.until, known.latest
		var id int64
		err := conn.QueryRow(ctx, `SELECT t.id, r.deployed_at FROM triggers t JOIN trigger_revisions r ON r.trigger_id = t.id AND r.revision = 1
			WHERE t.project = $1 AND t.domain = $2 AND t.task_name = $3 AND t.name = $4`,
			script.Project, script.Domain, triggered(c.driver.plan.seed), t.Name).Scan(&id, &t.From)
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
	rows, err := conn.Query(ctx, `SELECT run_name, trigger_name, run_start_time FROM actions
		WHERE project = $1 AND domain = $2 AND parent_name IS NULL AND trigger_task_name = $3`,
		script.Project, script.Domain, triggered(c.driver.plan.seed))
	if err != nil {
		return nil, fmt.Errorf("read the runs of triggers: %w", err)
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (check.Run, error) {
		run := check.Run{Acknowledged: true, Script: c.driver.plan.triggers.node, Rules: []check.Rule{everyRun()}}
		return run, row.Scan(&run.Name, &run.Trigger, &run.Slot)
	})
	if err != nil {
		return nil, fmt.Errorf("read the runs of triggers: %w", err)
	}
	return runs, nil
}
