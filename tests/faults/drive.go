package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// driver acts as the users of a storm, who are of two tenants, and records the answers.
type driver struct {
	stack *stack.Stack
	root  *client            // of the administrator
	users map[string]*client // of the tenants, by their marks
	// visitors have no role but the one that they are given and lose.
	visitors []*visitor
	plan     plan
	audited  int64 // the newest audit event from before the storm
	runs     []*drivenRun
	apps     []*drivenApp
	work     sync.WaitGroup

	triggers     drivenTriggers
	triggersDone chan struct{} // closed when all of them are deployed

	mu       sync.Mutex
	problems []string // GUARDED_BY(mu): answers that no caller should get
}

// drivenRun is what is known of a run from outside.
type drivenRun struct {
	plannedRun
	watchers []*watcher

	mu           sync.Mutex
	acknowledged bool          // GUARDED_BY(mu)
	aborts       []check.Abort // GUARDED_BY(mu)
}

func newDriver(ctx context.Context, s *stack.Stack, p plan) (*driver, error) {
	d := &driver{stack: s, plan: p, users: map[string]*client{}}
	if err := d.admit(ctx); err != nil {
		d.close()
		return nil, fmt.Errorf("let the tenants in: %w", err)
	}
	if err := d.record(ctx); err != nil {
		d.close()
		return nil, err
	}
	for _, run := range p.runs {
		one := &drivenRun{plannedRun: run}
		one.watchers = []*watcher{newWatcher("details"), newWatcher("actions")}
		d.runs = append(d.runs, one)
	}
	for _, planned := range p.apps {
		d.apps = append(d.apps, &drivenApp{
			plannedApp: planned, done: make(chan struct{}), known: check.App{Name: planned.name, Clusters: planned.clusters},
		})
	}
	return d, nil
}

// start publishes the artifact that tasks read and starts every user; watches last until the context ends.
func (d *driver) start(ctx context.Context) {
	d.publish(ctx)
	d.triggersDone = make(chan struct{})
	d.work.Go(func() { defer close(d.triggersDone); d.driveTriggers(ctx) })
	for _, run := range d.runs {
		d.work.Go(func() { d.drive(ctx, run) })
	}
	for _, one := range d.apps {
		d.work.Go(func() { d.driveApp(ctx, one) })
	}
	d.look(ctx)
}

func (d *driver) publish(ctx context.Context) {
	for _, tenant := range script.Tenants() {
		d.publishFor(ctx, tenant)
	}
}

func (d *driver) publishFor(ctx context.Context, tenant script.Tenant) {
	request := &artifact.CreateArtifactRequest{
		ArtifactId: &artifact.ArtifactIdentifier{
			Name: &artifact.ArtifactName{Project: tenant.Project(), Domain: script.Domain, Name: script.ReadArtifact}, Version: "1",
		},
		Spec: &artifact.ArtifactSpec{Value: script.Data(), Type: script.DataType()},
	}
	err := insist(ctx, func(ctx context.Context) error {
		_, err := d.users[tenant.Mark].artifacts.CreateArtifact(ctx, request)
		return err
	})
	if err != nil && connect.CodeOf(err) != connect.CodeAlreadyExists { // an earlier storm published it
		d.problem("CreateArtifact: %v", err)
	}
}

func (d *driver) problem(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.problems = append(d.problems, fmt.Sprintf(format, args...))
}

func (d *driver) drive(ctx context.Context, run *drivenRun) {
	if !sleep(ctx, run.after) || !d.create(ctx, run) {
		return
	}
	var parts sync.WaitGroup
	for _, w := range run.watchers {
		parts.Go(func() { w.follow(ctx, d.of(run.root), run.id()) })
	}
	for _, node := range run.root.All() {
		switch {
		case node.AbortMillis > 0:
			parts.Go(func() { d.abort(ctx, run, node, time.Duration(node.AbortMillis)*time.Millisecond) })
		case node.Kind == script.Condition && node.Answer == script.AnswerAbort:
			parts.Go(func() { d.abort(ctx, run, node, 300*time.Millisecond) })
		case node.Kind == script.Condition && node.Answer == script.AnswerSignal:
			parts.Go(func() { d.signal(ctx, run, node) })
		}
	}
	parts.Wait()
}

// create creates the run; some are created twice at the same time.
func (d *driver) create(ctx context.Context, run *drivenRun) bool {
	inputs, err := run.root.Encode()
	if err != nil {
		d.problem("%s: %v", run.name, err)
		return false
	}
	request := &workflow.CreateRunRequest{
		Id:           &workflow.CreateRunRequest_RunId{RunId: run.id()},
		Task:         &workflow.CreateRunRequest_TaskSpec{TaskSpec: run.root.Spec(d.stack.Programs.Task, d.stack.Ledger)},
		InputWrapper: &workflow.CreateRunRequest_Inputs{Inputs: inputs},
		RunSpec:      runSpec(run, d.stack.Sink),
	}
	times := 1
	if run.twice {
		times = 2
	}
	var calls sync.WaitGroup
	for range times {
		calls.Go(func() {
			err := insist(ctx, func(ctx context.Context) error {
				_, err := d.of(run.root).runs.CreateRun(ctx, request)
				return err
			})
			if err != nil {
				d.problem("CreateRun %s: %v", run.name, err)
				return
			}
			run.mu.Lock()
			defer run.mu.Unlock()
			run.acknowledged = true
		})
	}
	calls.Wait()
	run.mu.Lock()
	defer run.mu.Unlock()
	return run.acknowledged
}

// appeared waits until a watcher has seen an action; false when the run ended without it or the storm is over.
func (d *driver) appeared(ctx context.Context, run *drivenRun, name string) bool {
	for sleep(ctx, 50*time.Millisecond) {
		switch {
		case run.watchers[1].has(name):
			return true
		case run.watchers[0].ended("a0"):
			return false
		}
	}
	return false
}

func (d *driver) abort(ctx context.Context, run *drivenRun, node script.Node, after time.Duration) {
	if !d.appeared(ctx, run, node.Name) || !sleep(ctx, after) {
		return
	}
	// From the first request on, the abort may be in flight.
	run.mu.Lock()
	run.aborts = append(run.aborts, check.Abort{Action: node.Name, At: time.Now()})
	run.mu.Unlock()
	err := insist(ctx, func(ctx context.Context) error {
		if node.Name == "a0" {
			_, err := d.of(run.root).runs.AbortRun(ctx, &workflow.AbortRunRequest{RunId: run.id(), Reason: proto.String("the storm")})
			return err
		}
		_, err := d.of(run.root).runs.AbortAction(ctx, &workflow.AbortActionRequest{ActionId: run.action(node.Name), Reason: "the storm"})
		return err
	})
	if err != nil && ctx.Err() == nil {
		d.problem("abort %s/%s: %v", run.name, node.Name, err)
	}
}

func (d *driver) signal(ctx context.Context, run *drivenRun, node script.Node) {
	if !d.appeared(ctx, run, node.Name) {
		return
	}
	err := insist(ctx, func(ctx context.Context) error {
		_, err := d.of(run.root).runs.SignalEvent(ctx, &workflow.SignalEventRequest{
			ActionId: run.action(node.Name),
			Payload:  &workflow.EventPayload{Value: &workflow.EventPayload_BoolValue{BoolValue: true}},
		})
		return err
	})
	if err != nil && ctx.Err() == nil && !run.watchers[1].ended(node.Name) && sleep(ctx, 3*time.Second) && !run.watchers[1].ended(node.Name) {
		d.problem("signal %s/%s: %v", run.name, node.Name, err)
	}
}

func (r plannedRun) id() *common.RunIdentifier {
	return &common.RunIdentifier{Project: r.root.Tenant.Project(), Domain: script.Domain, Name: r.name}
}

func (r plannedRun) action(name string) *common.ActionIdentifier {
	return &common.ActionIdentifier{Run: r.id(), Name: name}
}
