package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
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

// The pauses between two looks while a storm settles. The clusters are looked at more rarely as long as there is work in the database.
const (
	lookEvery     = 250 * time.Millisecond
	clustersEvery = 4 // looks
)

// settle waits until all runs have ended, nothing is left in the cluster and the watchers are up to date. When nothing
// changes for stuckAfter, it returns without an error; the checker reports what is missing.
func (c *collector) settle(ctx context.Context) error {
	database := c.stack.Reader()
	defer database.Close()
	last, moved := pulse{}, time.Now()
	for look := 0; ; look++ {
		now, err := c.pulse(ctx, database, last, look%clustersEvery == 0)
		switch {
		case err == nil && now.settled() && c.watched(ctx, database):
			return nil
		case err == nil && now != last:
			last, moved = now, time.Now()
		case time.Since(moved) > stuckAfter:
			return nil
		}
		if !sleep(ctx, lookEvery) {
			return fmt.Errorf("the storm does not settle: %w; %+v", ctx.Err(), last)
		}
	}
}

// pulse reads how far the storm is. What is left in the clusters is as in the pulse before, unless it may have settled or must be looked
// at.
func (c *collector) pulse(ctx context.Context, database *stack.Reader, last pulse, clusters bool) (pulse, error) {
	now := pulse{taskActions: last.taskActions, pods: last.pods, processes: last.processes}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err := database.Do(ctx, func(ctx context.Context, conn *pgx.Conn) error { return c.recording(ctx, conn, &now) })
	if err != nil {
		return now, err
	}
	for _, run := range c.driver.runs {
		run.mu.Lock()
		if !run.acknowledged {
			now.unfinished++
		}
		run.mu.Unlock()
	}
	if clusters || now.unfinished+now.waiting == 0 {
		var taskActions, pods []string
		taskActions, pods, err = c.left(ctx, metav1.ListOptions{ResourceVersion: stack.Recent})
		if err == nil {
			var objects []string
			objects, err = c.stack.AppObjects(ctx)
			pods = append(pods, objects...)
		}
		now.taskActions, now.pods, now.processes = len(taskActions), len(pods), len(c.stack.TaskProcesses())
	}
	return now, err
}

// settled reports whether nothing is left to happen.
func (p pulse) settled() bool {
	return p.unfinished == 0 && p.taskActions == 0 && p.pods == 0 && p.processes == 0 && p.waiting == 0
}

// recording reads what is unfinished in the database.
func (c *collector) recording(ctx context.Context, conn *pgx.Conn, now *pulse) error {
	err := conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE ended_at IS NULL), coalesce(sum(last_seq) FILTER (WHERE parent_name IS NULL), 0)::bigint
		FROM actions WHERE run_name LIKE $1 OR run_name IN (SELECT run_name FROM actions WHERE parent_name IS NULL AND trigger_task_name = $2)`,
		runsOf(c.driver.plan.seed), c.driver.plan.triggered()).Scan(&now.unfinished, &now.events)
	if err != nil {
		return err
	}
	if err := c.onTheWay(ctx, conn, now); err != nil {
		return err
	}
	if now.unfinished == 0 {
		return agePools(ctx, conn)
	}
	return nil
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
func (c *collector) watched(ctx context.Context, database *stack.Reader) bool {
	behind := false
	err := database.Do(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		for _, run := range c.driver.runs {
			at := &check.Run{Name: run.name, Script: run.root}
			if err := c.rows(ctx, conn, at); err != nil {
				return err
			}
			behind = behind || run.isBehind(at)
		}
		return nil
	})
	return err == nil && !behind
}

// isBehind reports whether a watcher has not seen everything yet.
func (r *drivenRun) isBehind(at *check.Run) bool {
	for _, w := range r.watchers {
		last := w.last()
		for _, row := range at.Rows {
			if row.Name != "a0" && w.kind == "details" {
				continue
			}
			if last[row.Name] != (check.Position{Attempt: row.Attempt, Phase: row.Phase}) {
				return true
			}
		}
	}
	return false
}
