package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/monitor"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// collector collects the evidence of a storm directly, without the product.
type collector struct {
	stack  *stack.Stack
	driver *driver
	look   *monitor.Pods
	placed *monitor.Clusters
	healed time.Time
}

// memoryLimit bounds the server's memory after any number of storms.
const memoryLimit = 600 << 20

func (c *collector) collect(ctx context.Context) (*check.Evidence, error) {
	conn, err := pgx.Connect(ctx, c.stack.DSN())
	if err != nil {
		return nil, fmt.Errorf("read the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it only read
	e := &check.Evidence{
		Clusters:  len(c.stack.Clusters()),
		Processes: c.stack.TaskProcesses(), Clashes: c.look.Clashes(), Overlaps: c.look.Overlaps(), Lives: c.look.Lives(), Early: c.placed.Early(),
		Memory: stack.Memory(c.stack.Server.Pid()), MemoryLimit: memoryLimit,
	}
	e.Jobs, e.WrongCalls = c.stack.Connector.Jobs()
	c.driver.seen(e, c.healed)
	if e.TaskActions, e.Pods, err = c.left(ctx, metav1.ListOptions{}); err != nil {
		return nil, err
	}
	for _, driven := range c.driver.runs {
		run, err := c.run(ctx, conn, driven)
		if err != nil {
			return nil, err
		}
		e.Runs = append(e.Runs, *run)
	}
	if e.Triggers, err = c.triggers(ctx, conn); err != nil {
		return nil, err
	}
	triggered, err := c.triggeredRuns(ctx, conn)
	if err != nil {
		return nil, err
	}
	for i := range triggered {
		if err := c.recorded(ctx, conn, &triggered[i]); err != nil {
			return nil, err
		}
	}
	e.Runs = append(e.Runs, triggered...)
	if e.Audit, err = c.audit(ctx, conn); err != nil {
		return nil, err
	}
	if e.Curves, err = c.curves(ctx, conn); err != nil {
		return nil, err
	}
	if err := c.apps(ctx, e); err != nil {
		return nil, err
	}
	e.Cached, err = c.cached(ctx, conn)
	return e, err
}

// left lists what is still in the clusters.
func (c *collector) left(ctx context.Context, options metav1.ListOptions) (taskActions, pods []string, err error) {
	for _, cluster := range c.stack.Clusters() {
		objects, err := cluster.Metadata.Resource(v1.Resource).List(ctx, options)
		if err != nil {
			return nil, nil, fmt.Errorf("list TaskActions: %w", err)
		}
		for i := range objects.Items {
			taskActions = append(taskActions, objects.Items[i].Name)
		}
		found, err := cluster.Client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
		if err != nil {
			return nil, nil, fmt.Errorf("list pods: %w", err)
		}
		for i := range found.Items {
			pods = append(pods, fmt.Sprintf("%s (%s)", found.Items[i].Name, found.Items[i].Status.Phase))
		}
		left, err := cluster.Objects(ctx, options)
		if err != nil {
			return nil, nil, err
		}
		for _, object := range left {
			pods = append(pods, object.String())
		}
	}
	return taskActions, pods, nil
}

func (c *collector) run(ctx context.Context, conn *pgx.Conn, driven *drivenRun) (*check.Run, error) {
	driven.mu.Lock()
	run := &check.Run{Name: driven.name, Acknowledged: driven.acknowledged, Script: driven.root, Aborts: driven.aborts, Rules: driven.rules}
	driven.mu.Unlock()
	for _, w := range driven.watchers {
		run.Watched = append(run.Watched, w.evidence())
	}
	return run, c.recorded(ctx, conn, run)
}

// recorded reads what the tasks, the database and the receivers know of a run.
func (c *collector) recorded(ctx context.Context, conn *pgx.Conn, run *check.Run) (err error) {
	if run.Notes, err = ledger.Read(c.stack.Ledger, run.Name); err != nil {
		return err
	}
	if err := c.rows(ctx, conn, run); err != nil {
		return fmt.Errorf("read actions: %w", err)
	}
	if err := c.events(ctx, conn, run); err != nil {
		return fmt.Errorf("read events: %w", err)
	}
	return c.sent(ctx, conn, run)
}

func (c *collector) rows(ctx context.Context, conn *pgx.Conn, run *check.Run) error {
	rows, err := conn.Query(ctx, `SELECT id, name, coalesce(parent_name, ''), action_type, phase, attempt, version, ended_at, hold,
		output_uri, error, last_seq, paused_count, cache_status FROM actions
		WHERE project = $1 AND domain = $2 AND run_name = $3 ORDER BY id`, run.Script.Tenant.Project(), script.Domain, run.Name)
	if err != nil {
		return err
	}
	kinds := map[string]script.Kind{}
	for _, node := range run.Script.All() {
		kinds[node.Name] = node.Kind
	}
	var row check.Row
	var output string
	var failure []byte
	var seq int64
	var phase int16
	_, err = pgx.ForEachRow(rows, []any{
		&row.ID, &row.Name, &row.Parent, &row.Kind, &phase, &row.Attempt, &row.Version, &row.EndedAt, &row.Hold,
		&output, &failure, &seq, &row.PausedChildren, &row.CacheStatus,
	}, func() error {
		row.Phase = int32(phase)
		if row.Parent == "" {
			run.LastSeq = seq
		}
		row.OutputExists = kinds[row.Name] != script.Task || exists(output)
		row.Foreign = kinds[row.Name] == script.Task && foreign(output, run.Script.Tenant)
		row.Astray = len(c.stack.Sides) > 0 && kinds[row.Name] == script.Task && row.Phase == check.Succeeded && row.CacheStatus != check.Hit &&
			!strings.HasSuffix(strings.TrimRight(output, "/"), fmt.Sprintf("/%s/%d", row.Name, row.Attempt))
		row.ErrorKind, row.ErrorMessage = describe(failure)
		row.Outlived = c.outlived(run, c.look.LastAlive(run.Name, row.Name))
		run.Rows = append(run.Rows, row)
		row.EndedAt = nil
		return nil
	})
	return err
}

// outlived is for how long a pod was alive after the last abort of its run and the end of the faults; 0 without an abort.
func (c *collector) outlived(run *check.Run, alive time.Time) time.Duration {
	if len(run.Aborts) == 0 {
		return 0
	}
	last := c.healed
	for _, abort := range run.Aborts {
		if abort.At.After(last) {
			last = abort.At
		}
	}
	return max(0, alive.Sub(last))
}

func exists(output string) bool {
	_, err := os.Stat(file(output))
	return err == nil
}

// file is the file of an output.
func file(output string) string {
	if strings.HasSuffix(output, ".pb") {
		return output
	}
	return strings.TrimRight(output, "/") + "/outputs.pb"
}

// foreign reports whether an output is of another tenant.
func foreign(output string, own script.Tenant) bool {
	body, err := os.ReadFile(file(output))
	return err == nil && slices.ContainsFunc(script.Tenants(), func(t script.Tenant) bool {
		return t != own && (bytes.Contains(body, []byte(t.Content)) || strings.Contains(output, t.Mark))
	})
}

// describe returns the kind of an error: USER or SYSTEM.
func describe(encoded []byte) (kind, message string) {
	if len(encoded) == 0 {
		return "", ""
	}
	failure := &core.ExecutionError{}
	if err := proto.Unmarshal(encoded, failure); err != nil {
		return "", err.Error()
	}
	return failure.GetKind().String(), failure.GetCode() + ": " + failure.GetMessage()
}

func (c *collector) events(ctx context.Context, conn *pgx.Conn, run *check.Run) error {
	rows, err := conn.Query(ctx, `SELECT e.action_id, e.seq, e.attempt, e.phase, e.version, e.recorded_at, e.error, e.event FROM action_events e
		JOIN actions a ON a.id = e.run_id AND a.parent_name IS NULL
		WHERE a.project = $1 AND a.domain = $2 AND a.run_name = $3 ORDER BY e.seq`, run.Script.Tenant.Project(), script.Domain, run.Name)
	if err != nil {
		return err
	}
	var event check.Event
	var failure, encoded []byte
	var phase int16
	_, err = pgx.ForEachRow(rows, []any{&event.Action, &event.Seq, &event.Attempt, &phase, &event.Version, &event.At, &failure, &encoded}, func() error {
		said := &workflow.ActionEvent{}
		if err := proto.Unmarshal(encoded, said); err != nil {
			return err
		}
		event.Cluster = said.GetCluster()
		event.Phase = int32(phase)
		var message string
		event.ErrorKind, message = describe(failure)
		event.Lost = strings.HasPrefix(message, monitor.LostPrefix)
		run.Events = append(run.Events, event)
		return nil
	})
	return err
}

// cached reads the cache.
func (c *collector) cached(ctx context.Context, conn *pgx.Conn) ([]check.CacheEntry, error) {
	rows, err := conn.Query(ctx, `SELECT project || '/' || domain || '/' || key, output_uri FROM cache_outputs`)
	if err != nil {
		return nil, fmt.Errorf("read the cache: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (entry check.CacheEntry, err error) {
		err = row.Scan(&entry.Key, &entry.URI)
		entry.Exists = exists(entry.URI)
		return entry, err
	})
}
