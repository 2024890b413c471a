package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// period is the time between two slots of each trigger, the shortest that schedules have. The slots of triggers with a fixed
// rate are counted from a start in the first seconds of the storm, so that no storm waits for a minute.
const period = time.Minute

// catchUp is how many slots of a trigger run at most when the clock steps over more.
const catchUp = 3

// lateAfter is how late a slot may be until it counts as missed: the server's default.
const lateAfter = time.Minute

// cronTrigger is the trigger whose schedule is a cron expression, and which is run for slots of the past, too.
const cronTrigger = "cron"

// plannedTriggers are the triggers of a storm, all of one task.
type plannedTriggers struct {
	node     script.Node   // what their runs do
	after    time.Duration // when they are deployed
	rates    []plannedRate
	backfill int           // how many slots of the past are run
	again    time.Duration // when they are deployed again, with another version of their task
}

// plannedRate is a trigger with a fixed rate.
type plannedRate struct {
	name   string
	start  time.Duration // after the deployment
	policy check.Policy
	// options say the same to the server, as annotations.
	options map[string]string
}

// optionPrefix begins the annotations that are options of triggers.
const optionPrefix = "flyte.org/trigger-"

// everySlot is the policy of triggers without an option of their own.
func everySlot() (check.Policy, map[string]string) {
	return check.Policy{CatchUp: catchUp}, map[string]string{optionPrefix + "catch-up-limit": fmt.Sprint(catchUp)}
}

// planRates plans a trigger for each option that a schedule may have, and one without.
func planRates(r *rand.Rand) []plannedRate {
	const jitter = 2 * time.Second
	rates := []plannedRate{
		{name: "rate"},
		{name: "latest", policy: check.Policy{CatchUp: 1}, options: map[string]string{"catch-up": "latest"}},
		{name: "none", policy: check.Policy{CatchUp: 1, Late: lateAfter}, options: map[string]string{"catch-up": "none"}},
		{name: "jittery", policy: check.Policy{Jitter: jitter}, options: map[string]string{"jitter": jitter.String()}},
		{name: "skip", policy: check.Policy{Alone: true}, options: map[string]string{"concurrency": "skip"}},
		{name: "replace", policy: check.Policy{Alone: true, Replaces: true}, options: map[string]string{"concurrency": "replace"}},
	}
	for i := range rates {
		rate := &rates[i]
		rate.start = time.Duration(500+r.IntN(2500)) * time.Millisecond
		policy, options := everySlot()
		rate.policy.CatchUp = cmp.Or(rate.policy.CatchUp, policy.CatchUp)
		for key, value := range rate.options {
			options[optionPrefix+key] = value
		}
		rate.options = options
	}
	return rates
}

func planTriggers(r *rand.Rand, seed uint64) plannedTriggers {
	return plannedTriggers{
		node:     script.Node{Name: "a0", Kind: script.Task, Millis: r.IntN(300), Artifact: fmt.Sprintf("triggered-%d", seed)},
		after:    time.Duration(r.IntN(300)) * time.Millisecond,
		backfill: 3 + r.IntN(4),
		again:    time.Duration(500+r.IntN(3000)) * time.Millisecond,
		rates:    planRates(r),
	}
}

// triggered is the task of the triggers.
func (p plan) triggered() string {
	return p.triggers.node.Tenant.TaskName(fmt.Sprintf("triggered.s%d", p.seed))
}

// drivenTriggers is what is known of the triggers from outside.
type drivenTriggers struct {
	start                       time.Time // from which the rates are counted
	backfillFrom, backfillUntil time.Time
	until, latest               time.Time // when they were switched off, by the server's clock, and the latest time that it showed
}

// driveTriggers deploys the triggers, has one run for the past, and deploys them again.
func (d *driver) driveTriggers(ctx context.Context) {
	p := d.plan.triggers
	if !sleep(ctx, p.after) {
		return
	}
	now, _ := d.stack.Now()
	d.triggers.start = now.Truncate(time.Microsecond)
	d.triggers.backfillFrom = now.Add(-20 * period).Truncate(period)
	d.triggers.backfillUntil = d.triggers.backfillFrom.Add(time.Duration(p.backfill) * period)
	if !d.deployTriggers(ctx, "v1") {
		return
	}
	err := insist(ctx, func(ctx context.Context) error {
		_, err := d.of(d.plan.triggers.node).slots.Backfill(ctx, &insightv1.BackfillRequest{
			Name: d.triggerName(cronTrigger), Parallel: 2,
			From: timestamppb.New(d.triggers.backfillFrom), Until: timestamppb.New(d.triggers.backfillUntil),
		})
		return err
	})
	if err != nil && ctx.Err() == nil {
		d.problem("backfill: %v", err)
	}
	if sleep(ctx, p.again) {
		d.deployTriggers(ctx, "v2")
	}
}

func (d *driver) deployTriggers(ctx context.Context, version string) bool {
	inputs, err := d.plan.triggers.node.Encode()
	if err != nil {
		d.problem("triggers: %v", err)
		return false
	}
	spec := d.plan.triggers.node.Spec(d.stack.Programs.Task, d.stack.Ledger)
	spec.TaskTemplate.Id.Name, spec.TaskTemplate.Id.Version = d.plan.triggered(), version
	request := &task.DeployTaskRequest{
		TaskId: &task.TaskIdentifier{Project: d.plan.triggers.node.Tenant.Project(), Domain: script.Domain, Name: d.plan.triggered(), Version: version}, Spec: spec,
	}
	_, plain := everySlot()
	options := map[string]map[string]string{cronTrigger: plain}
	for _, rate := range d.plan.triggers.rates {
		options[rate.name] = rate.options
	}
	for name, schedule := range d.schedules() {
		request.Triggers = append(request.Triggers, &task.TaskTrigger{
			Name: name,
			Spec: &task.TaskTriggerSpec{
				Active: true, InputWrapper: &task.TaskTriggerSpec_Inputs{Inputs: inputs},
				RunSpec: &task.RunSpec{Annotations: &task.Annotations{Values: options[name]}, Labels: labelsOf(d.plan.triggers.node)},
			},
			AutomationSpec: &task.TriggerAutomationSpec{
				Type: task.TriggerAutomationSpecType_TYPE_SCHEDULE, Automation: &task.TriggerAutomationSpec_Schedule{Schedule: schedule},
			},
		})
	}
	err = insist(ctx, func(ctx context.Context) error {
		_, err := d.of(d.plan.triggers.node).tasks.DeployTask(ctx, request)
		return err
	})
	// A deployment whose answer was lost exists already, and its triggers are what was asked for.
	if err != nil && connect.CodeOf(err) != connect.CodeAlreadyExists {
		if ctx.Err() == nil {
			d.problem("deploy triggers %s: %v", version, err)
		}
		return false
	}
	return true
}

// schedules are those of the triggers, by name.
func (d *driver) schedules() map[string]*task.Schedule {
	all := map[string]*task.Schedule{
		cronTrigger: {Expression: &task.Schedule_Cron{Cron: &task.Cron{Expression: "* * * * *", Timezone: "UTC"}}},
	}
	for _, rate := range d.plan.triggers.rates {
		all[rate.name] = &task.Schedule{Expression: &task.Schedule_Rate{Rate: &task.FixedRate{
			Value: 1, Unit: task.FixedRateUnit_FIXED_RATE_UNIT_MINUTE, StartTime: timestamppb.New(d.triggers.start.Add(rate.start)),
		}}}
	}
	return all
}

func (d *driver) triggerName(name string) *common.TriggerName {
	return &common.TriggerName{Project: d.plan.triggers.node.Tenant.Project(), Domain: script.Domain, TaskName: d.plan.triggered(), Name: name}
}

// stopTriggers switches the triggers off, so that the storm can settle. What was due before must still run.
func (d *driver) stopTriggers(ctx context.Context) error {
	select {
	case <-d.triggersDone:
	case <-ctx.Done():
		return fmt.Errorf("the triggers are not deployed: %w", ctx.Err())
	}
	request := &trigger.UpdateTriggersRequest{}
	for name := range d.schedules() {
		request.Names = append(request.Names, d.triggerName(name))
	}
	d.triggers.until, _ = d.stack.Now()
	sleep(ctx, stack.ClockLag) // then the server's time is later, too
	err := insist(ctx, func(ctx context.Context) error {
		_, err := d.of(d.plan.triggers.node).triggers.UpdateTriggers(ctx, request)
		return err
	})
	_, d.triggers.latest = d.stack.Now()
	d.triggers.latest = d.triggers.latest.Add(stack.ClockLag)
	if err != nil {
		return fmt.Errorf("switch triggers off: %w", err)
	}
	return nil
}
