package triggers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	triggerpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/schedule"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// kickoffContext is the entry of the inputs' context with which tasks learn which input is the time of the slot. The
// runtime of the SDK replaces that input by the start time of the run.
const kickoffContext = "_u_kickoff_time_input_arg"

// deployment is a trigger that is to be deployed.
type deployment struct {
	task   store.Task
	name   string
	prefix string // of the request's fields in errors
	// revision must be the newest one, unless it is 0.
	revision   uint64
	withTask   bool
	spec       *triggerpb.TriggerSpec
	automation *task.TriggerAutomationSpec
	taskSpec   *task.TaskSpec
	stored     bool // the version of the task is stored
}

// check refuses a trigger that could never fire, or whose runs would be refused: a mistake is an answer to the
// deployment, not a failed slot at night. The checks that cost a call come last.
func (h *handler) check(ctx context.Context, d *deployment, now time.Time) error {
	if d.automation == nil {
		d.automation = &task.TriggerAutomationSpec{Type: task.TriggerAutomationSpecType_TYPE_NONE}
	}
	if err := d.checkAutomation(now); err != nil {
		return err
	}
	if _, err := h.planner.config.policyOf(d.spec.GetRunSpec().GetAnnotations().GetValues()); err != nil {
		return d.in(err)
	}
	if err := d.checkInputs(); err != nil {
		return err
	}
	if err := h.checkPartitions(ctx, d); err != nil {
		return err
	}
	_, err := h.checkRun(ctx, d)
	return d.ofRun(err)
}

// in adds the prefix of the request to the field of an error.
func (d *deployment) in(err error) error {
	var wrong *rpc.Error
	if d.prefix == "" || !errors.As(err, &wrong) || wrong.Field == "" {
		return err
	}
	return rpc.InvalidArgument(d.prefix+wrong.Field, "%s", wrong.Message)
}

// ofRun names the field of the trigger for which the runs service refuses its runs.
func (d *deployment) ofRun(err error) error {
	var wire *connect.Error
	if !errors.As(err, &wire) || wire.Code() != connect.CodeInvalidArgument {
		return err
	}
	field, words, _ := strings.Cut(wire.Message(), ": ")
	for _, own := range []string{"run_spec", "inputs", "offloaded_input_data"} {
		if field == own || strings.HasPrefix(field, own+".") {
			return rpc.InvalidArgument(d.prefix+"spec."+field, "%s", words)
		}
	}
	return err
}

// invalid is the error for a field of the trigger, with the path of the trigger in the request.
func (d *deployment) invalid(field, format string, args ...any) error {
	return rpc.InvalidArgument(d.prefix+field, format, args...)
}

// checkAutomation checks that the automation has what its type requires, and that a schedule can be computed.
func (d *deployment) checkAutomation(now time.Time) error {
	switch kind := d.automation.GetType(); kind {
	case task.TriggerAutomationSpecType_TYPE_NONE:
		if d.automation.GetAutomation() != nil {
			return d.invalid("automation_spec.type", "is TYPE_NONE, but the trigger has an automation")
		}
	case task.TriggerAutomationSpecType_TYPE_ARTIFACT:
		return d.checkArtifact()
	case task.TriggerAutomationSpecType_TYPE_SCHEDULE:
		if d.automation.GetSchedule() == nil {
			return d.invalid("automation_spec.schedule", "is required for TYPE_SCHEDULE")
		}
		_, err := schedule.New(d.automation.GetSchedule(), now, now)
		var wrong *schedule.Error
		if errors.As(err, &wrong) {
			return d.invalid("automation_spec.schedule."+wrong.Field, "%s", wrong.Problem)
		}
		return err
	default:
		return d.invalid("automation_spec.type", "%d is not a known type", kind)
	}
	return nil
}

// checkInputs compares the inputs with the interface of the task.
func (d *deployment) checkInputs() error {
	variables := map[string]*core.Variable{}
	for _, entry := range d.taskSpec.GetTaskTemplate().GetInterface().GetInputs().GetVariables() {
		variables[entry.GetKey()] = entry.GetValue()
	}
	kickoff := d.automation.GetSchedule().GetKickoffTimeInputArg()
	if kickoff != "" {
		variable, ok := variables[kickoff]
		const field = "automation_spec.schedule.kickoff_time_input_arg"
		if !ok {
			return d.invalid(field, "task %s has no input %q", d.task.Name, kickoff)
		}
		if simple, ok := variable.GetType().GetType().(*core.LiteralType_Simple); ok && simple.Simple != core.SimpleType_DATETIME {
			return d.invalid(field, "input %q of task %s is not a datetime", kickoff, d.task.Name)
		}
	}
	if d.spec.GetOffloadedInputData() != nil {
		return nil // the SDK wrote them, and put the kick-off time into their context
	}
	inputs := d.spec.GetInputs()
	for i, entry := range inputs.GetContext() {
		if entry.GetKey() != kickoffContext {
			continue
		}
		if _, ok := variables[entry.GetValue()]; !ok {
			return d.invalid("spec.inputs.context", "entry %d: task %s has no input %q, which is to be the kick-off time", i, d.task.Name, entry.GetValue())
		}
		if kickoff == "" {
			kickoff = entry.GetValue()
		}
	}
	// given collects the inputs that will have a value, whatever gives it: the slot, the version, a default or the
	// trigger.
	given := map[string]bool{kickoff: true}
	if err := d.checkBindings(variables, given); err != nil {
		return err
	}
	for _, parameter := range d.taskSpec.GetDefaultInputs() {
		given[parameter.GetName()] = parameter.GetParameter().GetDefault() != nil || !parameter.GetParameter().GetRequired()
	}
	for i, literal := range inputs.GetLiterals() {
		if _, ok := variables[literal.GetName()]; !ok {
			return d.invalid("spec.inputs.literals", "entry %d: task %s has no input %q", i, d.task.Name, literal.GetName())
		}
		given[literal.GetName()] = true
	}
	if d.automation.GetType() != task.TriggerAutomationSpecType_TYPE_NONE {
		for _, entry := range d.taskSpec.GetTaskTemplate().GetInterface().GetInputs().GetVariables() {
			if !given[entry.GetKey()] {
				return d.invalid("spec.inputs", "input %q of task %s has no value and no default", entry.GetKey(), d.task.Name)
			}
		}
	}
	d.keepKickoff()
	return nil
}

// keepKickoff has the inputs say which of them is the kick-off time, for clients that say so in the schedule alone.
func (d *deployment) keepKickoff() {
	kickoff := d.automation.GetSchedule().GetKickoffTimeInputArg()
	inputs := d.spec.GetInputs()
	if kickoff == "" || slices.ContainsFunc(inputs.GetContext(), func(entry *core.KeyValuePair) bool { return entry.GetKey() == kickoffContext }) {
		return
	}
	completed := &task.Inputs{}
	if inputs != nil {
		completed = proto.CloneOf(inputs)
	}
	completed.Context = append(completed.Context, &core.KeyValuePair{Key: kickoffContext, Value: kickoff})
	d.spec = proto.CloneOf(d.spec)
	d.spec.InputWrapper = &triggerpb.TriggerSpec_Inputs{Inputs: completed}
}

// checkRun asks the runs service whether it would take the runs of the trigger. It returns what people should know about
// them.
func (h *handler) checkRun(ctx context.Context, d *deployment) (notes []string, err error) {
	preview := &decoded{
		Trigger: &store.Trigger{Task: d.task, Name: d.name, TaskVersion: d.spec.GetTaskVersion(), Revision: 1}, spec: d.spec, automation: d.automation,
	}
	run := runOf(preview, &store.Fire{Slot: h.clock.Now()})
	run.Id = &workflow.CreateRunRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: d.task.Project, Domain: d.task.Domain}}
	if !d.stored {
		spec := proto.CloneOf(d.taskSpec)
		if template := spec.GetTaskTemplate(); template != nil {
			template.Id = &core.Identifier{
				ResourceType: core.ResourceType_TASK, Project: d.task.Project, Domain: d.task.Domain, Name: d.task.Name, Version: d.spec.GetTaskVersion(),
			}
		}
		run.Task = &workflow.CreateRunRequest_TaskSpec{TaskSpec: spec}
	}
	answer, err := h.starts.StartTriggeredRun(ctx, &enginev1.StartTriggeredRunRequest{
		Run: run, Trigger: identifier(preview.Trigger, 1), CheckOnly: true, Automation: d.automation,
	})
	return answer.GetNotes(), err
}
