package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// triggersPerTask is how many triggers one request deploys.
const triggersPerTask = 100

// measureTriggers deploys n active triggers whose slots are a day away and measures what they cost. It then deploys
// firing more, which fire one after the other within a time, and measures how late their runs were started.
func measureTriggers(n, firing int, within, quiet time.Duration) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		if err := addMemory(s, r, "without triggers", false); err != nil {
			return err
		}
		tomorrow := time.Now().Add(24 * time.Hour)
		began := time.Now()
		if err := deployTriggers(ctx, s, "idle", n, func(i int) time.Time { return tomorrow.Add(time.Duration(i) * time.Second) }); err != nil {
			return err
		}
		r.Add("triggers deployed", float64(n)/time.Since(began).Seconds(), "/s")
		if err := s.RestartServer(ctx, &figures.Result{}); err != nil { // deploying leaves memory that idle triggers do not need
			return err
		}
		if err := stack.Pause(ctx, min(settleTime, quiet)); err != nil {
			return err
		}
		if err := addMemory(s, r, "idle, with the triggers", false); err != nil {
			return err
		}
		if err := quietly(ctx, s, r, quiet, meanwhile); err != nil {
			return err
		}
		first := time.Now().UTC().Add(time.Duration(firing)*10*time.Millisecond + 2*time.Second) // deploying takes a while
		if err := deployTriggers(ctx, s, "firing", firing, func(i int) time.Time { return first.Add(time.Duration(i) * within / time.Duration(firing)) }); err != nil {
			return err
		}
		if late := time.Since(first); late > 0 {
			return fmt.Errorf("deploying %d triggers took %s too long: their first slots have passed", firing, late)
		}
		return awaitFires(ctx, s, r, firing)
	}
}

// deployTriggers deploys triggers of a built-in task, so that their runs need no pods. Each has slots a day apart.
func deployTriggers(ctx context.Context, s *stack.Stack, prefix string, n int, start func(int) time.Time) error {
	tasks := taskconnect.NewTaskServiceClient(&http.Client{Transport: s.Transport}, s.URL)
	for done := 0; done < n; done += triggersPerTask {
		name := fmt.Sprintf("bench.%s-%d", prefix, done)
		request := &task.DeployTaskRequest{
			TaskId: &task.TaskIdentifier{Project: stack.Project, Domain: stack.Domain, Name: name, Version: "1"}, Spec: stack.SleepTask(),
		}
		request.Spec.TaskTemplate.Id.Name = name
		request.Spec.TaskTemplate.Interface.Inputs = &core.VariableMap{Variables: []*core.VariableEntry{{
			Key: "duration", Value: &core.Variable{Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_DURATION}}},
		}}}
		for i := done; i < min(n, done+triggersPerTask); i++ {
			request.Triggers = append(request.Triggers, dailyTrigger(fmt.Sprintf("%s-%d", prefix, i), start(i)))
		}
		if _, err := tasks.DeployTask(ctx, request); err != nil {
			return fmt.Errorf("deploy triggers: %w", err)
		}
	}
	return nil
}

func dailyTrigger(name string, start time.Time) *task.TaskTrigger {
	return &task.TaskTrigger{
		Name: name,
		AutomationSpec: &task.TriggerAutomationSpec{
			Type: task.TriggerAutomationSpecType_TYPE_SCHEDULE,
			Automation: &task.TriggerAutomationSpec_Schedule{Schedule: &task.Schedule{Expression: &task.Schedule_Rate{Rate: &task.FixedRate{
				Value: 1, Unit: task.FixedRateUnit_FIXED_RATE_UNIT_DAY, StartTime: timestamppb.New(start),
			}}}},
		},
		Spec: &task.TaskTriggerSpec{Active: true, InputWrapper: &task.TaskTriggerSpec_Inputs{Inputs: &task.Inputs{
			Literals: []*task.NamedLiteral{{Name: "duration", Value: stack.DurationLiteral(0)}},
		}}},
	}
}

// awaitFires waits until all have fired, and reads how late each run was recorded.
func awaitFires(ctx context.Context, s *stack.Stack, r *figures.Result, firing int) error {
	pool, err := pgxpool.New(ctx, s.Postgres.DSN())
	if err != nil {
		return err
	}
	defer pool.Close()
	began, err := s.Usage()
	if err != nil {
		return err
	}
	for settled := 0; settled < firing; {
		if err := stack.Pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("%d of %d triggers have fired: %w", settled, firing, err)
		}
		if err := pool.QueryRow(ctx, `SELECT count(*) FROM trigger_fires WHERE settled_at IS NOT NULL`).Scan(&settled); err != nil {
			return err
		}
	}
	ended, err := s.Usage()
	if err != nil {
		return err
	}
	used := ended.Since(began)
	for _, name := range []string{stack.ServerName, stack.PostgresName} {
		r.Add("CPU per fire, "+name, figures.Milliseconds(used.CPU[name])/float64(firing), "ms")
	}
	rows, err := pool.Query(ctx, `SELECT extract(epoch FROM settled_at - slot)::float8 FROM trigger_fires`)
	if err != nil {
		return err
	}
	var late []time.Duration
	for rows.Next() {
		var seconds float64
		if err := rows.Scan(&seconds); err != nil {
			return err
		}
		late = append(late, time.Duration(seconds*float64(time.Second)))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	r.Latency("lateness", late)
	r.Add("others meanwhile", used.Others, "cores")
	return addMemory(s, r, "after the fires", true)
}
