package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/tests/faults/check"
)

// stuckAfter is how long nothing may change before what is unfinished counts as stuck. Clients of an API server that
// was down several times wait up to a minute before they list again.
const stuckAfter = 90 * time.Second

// pulse is what changes while a storm settles.
type pulse struct {
	unfinished, taskActions, pods, processes int
	waiting                                  int // slots without their run, jobs of the connector, notifications, events and artifacts on their way
	events                                   int64
}

// settle waits until all runs have ended, nothing is left in the cluster and the watchers are up to date. When nothing
// changes for stuckAfter, it returns without an error; the checker reports what is missing.
func (c *collector) settle(ctx context.Context) error {
	last, moved := pulse{}, time.Now()
	for {
		now, err := c.pulse(ctx)
		switch {
		case err == nil && now.unfinished == 0 && now.taskActions == 0 && now.pods == 0 && now.processes == 0 && now.waiting == 0 && c.watched(ctx):
			return nil
		case err == nil && now != last:
			last, moved = now, time.Now()
		case time.Since(moved) > stuckAfter:
			return nil
		}
		if !sleep(ctx, 100*time.Millisecond) {
			return fmt.Errorf("the storm does not settle: %w; %+v", ctx.Err(), last)
		}
	}
}

func (c *collector) pulse(ctx context.Context) (pulse, error) {
	var now pulse
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.stack.DSN())
	if err != nil {
		return now, err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it only read
	err = conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE ended_at IS NULL), coalesce(sum(last_seq) FILTER (WHERE parent_name IS NULL), 0)::bigint
		FROM actions WHERE run_name LIKE $1 OR run_name IN (SELECT run_name FROM actions WHERE parent_name IS NULL AND trigger_task_name = $2)`,
		runsOf(c.driver.plan.seed), c.driver.plan.triggered()).Scan(&now.unfinished, &now.events)
	if err != nil {
		return now, err
	}
	if err := c.onTheWay(ctx, conn, &now); err != nil {
		return now, err
	}
	if now.unfinished == 0 {
		if err := agePools(ctx, conn); err != nil {
			return now, err
		}
	}
	taskActions, pods, err := c.left(ctx)
	now.taskActions, now.pods, now.processes = len(taskActions), len(pods), len(c.stack.TaskProcesses())
	for _, run := range c.driver.runs {
		run.mu.Lock()
		if !run.acknowledged {
			now.unfinished++
		}
		run.mu.Unlock()
	}
	return now, err
}

// agePools has pools without work for so long that they lose their workers.
func agePools(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `UPDATE worker_pools SET worked_at = clock_timestamp() - interval '1 day' WHERE worked_at > clock_timestamp() - interval '1 hour'`)
	return err
}

// farAway is longer than a notification waits between two tries: one that is due later was being sent when the server died.
const farAway = 5 * time.Second

// onTheWay counts what has to leave the database. When nothing is left but notifications that the server was sending when it
// died, the clock steps to when they are sent again.
func (c *collector) onTheWay(ctx context.Context, conn *pgx.Conn, now *pulse) error {
	var pending int
	var next *time.Time
	err := conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM trigger_fires WHERE retry_at IS NOT NULL)
			+ (SELECT count(*) FROM trigger_backfills WHERE ended_at IS NULL) + (SELECT count(*) FROM produced_outputs) + (SELECT count(*) FROM unread_inputs)
			+ (SELECT count(*) FROM connector_jobs) + (SELECT count(*) FROM connector_logs)
			+ (SELECT count(*) FROM notification_outbox) + (SELECT count(*) FROM event_backlog) + count(*),
		count(*), min(next_at) FROM notification_deliveries WHERE state = $1`, notYetDelivered).Scan(&now.waiting, &pending, &next)
	if err != nil {
		return err
	}
	clock, _ := c.stack.Now()
	if now.unfinished == 0 && pending > 0 && now.waiting == pending && next.Sub(clock) > farAway {
		return c.stack.StepClock(next.Sub(clock))
	}
	return nil
}

// notYetDelivered is the state of a notification.
const notYetDelivered = 1

// watched reports whether every watcher has the current state of its run.
func (c *collector) watched(ctx context.Context) bool {
	conn, err := pgx.Connect(ctx, c.stack.DSN())
	if err != nil {
		return false
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it only read
	for _, run := range c.driver.runs {
		at := &check.Run{Name: run.name, Script: run.root}
		if err := c.rows(ctx, conn, at); err != nil {
			return false
		}
		for _, w := range run.watchers {
			last := w.last()
			for _, row := range at.Rows {
				if row.Name != "a0" && w.kind == "details" {
					continue
				}
				if last[row.Name] != (check.Position{Attempt: row.Attempt, Phase: row.Phase}) {
					return false
				}
			}
		}
	}
	return true
}
