package triggers

import (
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	triggerpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

func taskOf(name *common.TriggerName) store.Task {
	return store.Task{Project: name.GetProject(), Domain: name.GetDomain(), Name: name.GetTaskName()}
}

func identifier(t *store.Trigger, revision int64) *common.TriggerIdentifier {
	return &common.TriggerIdentifier{
		Name:     &common.TriggerName{Project: t.Project, Domain: t.Domain, Name: t.Name, TaskName: t.Task.Name},
		Revision: uint64(revision), //nolint:gosec // from 1
	}
}

func timestamp(at *time.Time) *timestamppb.Timestamp {
	if at == nil {
		return nil
	}
	return timestamppb.New(*at)
}

func status(t *store.Trigger) *triggerpb.TriggerStatus {
	return &triggerpb.TriggerStatus{
		DeployedAt: timestamppb.New(t.DeployedAt), UpdatedAt: timestamppb.New(t.UpdatedAt), TriggeredAt: timestamp(t.TriggeredAt),
		DeletedAt: timestamp(t.DeletedAt),
	}
}

// metadata decodes who deployed a trigger and who changed it last.
func metadata(t *store.Trigger) (*triggerpb.TriggerMetadata, error) {
	m := &triggerpb.TriggerMetadata{DeployedBy: &common.EnrichedIdentity{}, UpdatedBy: &common.EnrichedIdentity{}}
	if err := errors.Join(proto.Unmarshal(t.DeployedBy, m.GetDeployedBy()), proto.Unmarshal(t.UpdatedBy, m.GetUpdatedBy())); err != nil {
		return nil, rpc.DataLoss(err, "who deployed trigger %s cannot be read", t.Name)
	}
	return m, nil
}

func automation(t *store.Trigger) (*task.TriggerAutomationSpec, error) {
	spec := &task.TriggerAutomationSpec{}
	if err := proto.Unmarshal(t.Automation, spec); err != nil {
		return nil, rpc.DataLoss(err, "the stored automation of trigger %s cannot be read", t.Name)
	}
	return spec, nil
}

// details is a trigger in full.
func details(t *store.Trigger) (*triggerpb.TriggerDetails, error) {
	who, err := metadata(t)
	if err != nil {
		return nil, err
	}
	automated, err := automation(t)
	if err != nil {
		return nil, err
	}
	spec := &triggerpb.TriggerSpec{}
	if err := proto.Unmarshal(t.Spec, spec); err != nil {
		return nil, rpc.DataLoss(err, "the stored spec of trigger %s cannot be read", t.Name)
	}
	spec.Active = t.Active
	return &triggerpb.TriggerDetails{
		Id: identifier(t, t.Revision), Metadata: who, Spec: spec, Status: status(t), AutomationSpec: automated, Description: &t.Description,
	}, nil
}

// message is the text of an error for people, without what only logs may say.
func message(err error) string {
	text := err.Error()
	var wire *connect.Error
	var own *rpc.Error
	switch {
	case errors.As(err, &wire):
		text = wire.Code().String() + ": " + wire.Message()
	case errors.As(err, &own):
		text = own.Public()
	}
	const limit = 1000
	return clip.Head(text, limit)
}
