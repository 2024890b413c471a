package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// together is how many children are recorded at the same time.
const together = 8

// children records the children that have not ended yet and waits for all of them. It returns the phase in which each
// ended.
func (p *taskProcess) children(ctx context.Context) (map[string]int32, error) {
	if len(p.node.Children) == 0 {
		return nil, nil
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	w := newWatch(p)
	if err := w.start(watching); err != nil {
		return nil, err
	}
	if p.node.Chain {
		for _, child := range p.node.Children {
			if err := p.one(ctx, w, child); err != nil {
				return nil, err
			}
		}
		return w.all(), nil
	}
	var group sync.WaitGroup
	slots, failures := make(chan struct{}, together), make(chan error, len(p.node.Children))
	for _, child := range p.node.Children {
		slots <- struct{}{}
		group.Go(func() {
			err := p.record(ctx, w, child)
			<-slots
			if err == nil && !p.node.Leave {
				err = p.await(ctx, w, child.Name)
			}
			failures <- err
		})
	}
	group.Wait()
	close(failures)
	var all []error
	for err := range failures {
		all = append(all, err)
	}
	return w.all(), errors.Join(all...)
}

func (p *taskProcess) one(ctx context.Context, w *watch, child script.Node) error {
	if err := p.record(ctx, w, child); err != nil {
		return err
	}
	return p.await(ctx, w, child.Name)
}

func (p *taskProcess) await(ctx context.Context, w *watch, name string) error {
	phase, err := w.end(ctx, name)
	if err != nil {
		return fmt.Errorf("the end of %s was not seen: %w", name, err)
	}
	return p.Note(ledger.Line{What: ledger.Seen, Child: name, Phase: phase})
}

// record records a child unless its end was seen.
func (p *taskProcess) record(ctx context.Context, w *watch, child script.Node) error {
	if w.ended(child.Name) {
		return nil
	}
	request, err := p.request(ctx, child)
	if err != nil {
		return err
	}
	times := 1
	if p.node.Twice {
		times = 2
	}
	for range times {
		err := insist(ctx, func(ctx context.Context) error {
			_, err := p.actions.Enqueue(ctx, request)
			return err
		})
		if err != nil {
			if !final(err) {
				return err
			}
			_ = p.Note(ledger.Line{What: ledger.Refused, Child: child.Name, Note: err.Error()})
			<-ctx.Done() // A refusal means that this action is being aborted.
			return err
		}
	}
	return p.Note(ledger.Line{What: ledger.Recorded, Child: child.Name})
}

func (p *taskProcess) request(ctx context.Context, child script.Node) (*actions.EnqueueRequest, error) {
	id := &common.ActionIdentifier{Run: p.runID(), Name: child.Name}
	dir := p.base + child.Name
	action := &actions.Action{
		ActionId: id, ParentActionName: proto.String(p.action), RunOutputBase: p.base, InputUri: dir + "/inputs.pb", Group: "children",
	}
	switch child.Kind {
	case script.Condition:
		action.Spec = &actions.Action_Condition{Condition: child.ConditionSpec()}
	case script.Trace:
		now := time.Now()
		action.Spec = &actions.Action_Trace{Trace: &workflow.TraceAction{
			Name: child.Name, Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED,
			StartTime: timestamppb.New(now.Add(-time.Millisecond)), EndTime: timestamppb.New(now),
			Outputs: &task.OutputReferences{OutputUri: dir + "/1/outputs.pb"},
			Spec:    &task.TraceSpec{Interface: &core.TypedInterface{}},
		}}
	default:
		inputs, err := child.Encode()
		if err != nil {
			return nil, err
		}
		if child.Kind == script.Sleep {
			inputs = sleepInputs(child)
		}
		if err := write(ctx, dir+"/inputs.pb", inputs); err != nil {
			return nil, err
		}
		spec := &workflow.TaskAction{Spec: child.Spec(p.program, p.ledgerDir)}
		if child.Cache != "" {
			spec.CacheKey = wrapperspb.String(child.Cache)
		}
		action.Spec = &actions.Action_Task{Task: spec}
	}
	return &actions.EnqueueRequest{Action: action}, nil
}

func (p *taskProcess) runID() *common.RunIdentifier {
	return &common.RunIdentifier{Project: p.node.Tenant.Project(), Domain: script.Domain, Name: p.run}
}
