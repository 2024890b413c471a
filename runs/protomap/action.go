// Package protomap converts stored rows to the public messages of actions and runs. Every list, detail and watch uses
// it, so that clients see the same data everywhere. It has no state and no I/O.
package protomap

import (
	"bytes"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Run returns the message of a run: its root action and its labels.
func Run(root *schema.Action, labels map[string]string) (*workflow.Run, error) {
	action, err := Action(root, nil)
	if err != nil {
		return nil, err
	}
	return &workflow.Run{Action: action, Labels: labels}, nil
}

// Action returns the message of an action. condition is the encoded workflow.ConditionAction of a condition; if it is
// nil, the metadata lack its type.
func Action(a *schema.Action, condition []byte) (*workflow.Action, error) {
	return new(Mapper).Action(a, condition)
}

// Mapper returns the messages of many actions. Those in a row that were created by the same caller share one message of it, which
// must not be modified. It is not safe for concurrent use.
type Mapper struct {
	createdBy []byte
	creator   *common.EnrichedIdentity
}

// Action is the function Action.
func (m *Mapper) Action(a *schema.Action, condition []byte) (*workflow.Action, error) {
	metadata, err := m.metadata(a, condition)
	if err != nil {
		return nil, err
	}
	return &workflow.Action{Id: ID(a), Metadata: metadata, Status: Status(a)}, nil
}

// identity decodes who created an action, unless it was the one before.
func (m *Mapper) identity(a *schema.Action) (*common.EnrichedIdentity, error) {
	if m.creator == nil || !bytes.Equal(a.CreatedBy, m.createdBy) {
		m.createdBy, m.creator = a.CreatedBy, nil
		if err := decodeOptional(a, a.CreatedBy, &m.creator); err != nil {
			return nil, err
		}
	}
	return m.creator, nil
}

// ID returns the public name of an action.
func ID(a *schema.Action) *common.ActionIdentifier { return name(a).Proto() }

func name(a *schema.Action) ident.Action {
	return ident.Action{Run: ident.Run{Project: a.Project, Domain: a.Domain, Name: a.RunName}, Name: a.Name}
}

// Status returns the status of an action. It starts when the action is created; the duration, in milliseconds, runs
// from there to the end and is absent until then.
func Status(a *schema.Action) *workflow.ActionStatus {
	status := &workflow.ActionStatus{
		Phase:       common.ActionPhase(a.Phase),
		StartTime:   timestamppb.New(a.CreatedAt),
		Attempts:    uint32(max(a.Attempt, 1)),
		CacheStatus: core.CatalogCacheStatus(a.CacheStatus),
	}
	if a.EndedAt != nil {
		end := later(*a.EndedAt, a.CreatedAt)
		status.EndTime = timestamppb.New(end)
		status.DurationMs = proto.Uint64(uint64(end.Sub(a.CreatedAt).Milliseconds())) //nolint:gosec // not negative
	}
	return status
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Metadata returns the metadata of an action, without its spec.
func Metadata(a *schema.Action, condition []byte) (*workflow.ActionMetadata, error) {
	return new(Mapper).metadata(a, condition)
}

func (m *Mapper) metadata(a *schema.Action, condition []byte) (*workflow.ActionMetadata, error) {
	out := &workflow.ActionMetadata{
		Group:           a.ActionGroup,
		ActionType:      workflow.ActionType(a.ActionType),
		EnvironmentName: a.EnvironmentName,
		FuntionName:     a.FunctionName, // the contract spells it so
		Source:          workflow.RunSource(a.Source),
		TriggerName:     a.TriggerName,
	}
	if a.ParentName != nil {
		out.Parent = *a.ParentName
	}
	if a.TriggerName != "" {
		out.TriggerId = &common.TriggerIdentifier{Name: &common.TriggerName{
			Project: a.Project, Domain: a.Domain, Name: a.TriggerName, TaskName: a.TriggerTaskName,
		}, Revision: uint64(a.TriggerRevision)} //nolint:gosec // counts from 1
	}
	var err error
	if out.ExecutedBy, err = m.identity(a); err != nil {
		return nil, err
	}
	if err := decodeOptional(a, a.TriggerAutomation, &out.TriggerType); err != nil {
		return nil, err
	}
	if err := decodeOptional(a, a.Relation, &out.Relation); err != nil {
		return nil, err
	}
	if err := decodeOptional(a, a.RecoveredFrom, &out.RecoveredFrom); err != nil {
		return nil, err
	}
	return out, setSpec(out, a, condition)
}

// setSpec sets what the metadata say of the kind of action.
func setSpec(out *workflow.ActionMetadata, a *schema.Action, condition []byte) error {
	switch out.GetActionType() {
	case workflow.ActionType_ACTION_TYPE_TRACE:
		out.Spec = &workflow.ActionMetadata_Trace{Trace: &workflow.TraceActionMetadata{Name: a.TaskName}}
	case workflow.ActionType_ACTION_TYPE_CONDITION:
		var spec workflow.ConditionAction
		if err := decode(a, condition, &spec); err != nil {
			return err
		}
		out.Spec = &workflow.ActionMetadata_Condition{
			Condition: &workflow.ConditionActionMetadata{Name: a.TaskName, Type: spec.GetType()},
		}
	default:
		metadata := &workflow.TaskActionMetadata{
			Id: &task.TaskIdentifier{
				Project: a.TaskProject, Domain: a.TaskDomain, Name: a.TaskName, Version: a.TaskVersion,
			},
			TaskType:  a.TaskType,
			ShortName: a.ShortName,
		}
		if a.Queue != "" {
			metadata.Queue = proto.String(a.Queue)
		}
		out.Spec = &workflow.ActionMetadata_Task{Task: metadata}
	}
	return nil
}

// decodeOptional leaves the target nil when nothing is stored.
func decodeOptional[M any, P interface {
	*M
	proto.Message
}](a *schema.Action, body []byte, target *P) error {
	if len(body) == 0 {
		return nil
	}
	message := P(new(M))
	if err := decode(a, body, message); err != nil {
		return err
	}
	*target = message
	return nil
}

// decode reads a stored message. Clients can do nothing about one that is damaged, so the error is DataLoss.
func decode(a *schema.Action, body []byte, target proto.Message) error {
	if err := proto.Unmarshal(body, target); err != nil {
		return rpc.DataLoss(err, "the stored %s of action %s cannot be read", target.ProtoReflect().Descriptor().Name(), name(a))
	}
	return nil
}
