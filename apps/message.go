package apps

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	// maxConditions is how many conditions an answer about one app has, listConditions those of an app in a list.
	maxConditions  = 50
	listConditions = 5
)

func keyOf(id *app.Identifier) store.Key {
	return store.Key{Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName()}
}

func idOf(key store.Key) *app.Identifier {
	return &app.Identifier{Project: key.Project, Domain: key.Domain, Name: key.Name}
}

// message is an app as the contract writes it.
func (h *handler) message(ctx context.Context, a *store.App) (*app.App, error) {
	found, err := h.messages(ctx, []*store.App{a}, maxConditions)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// messages are apps as the contract writes them, each with its last conditions. All events are read with one query,
// however many apps there are.
func (h *handler) messages(ctx context.Context, rows []*store.App, conditions int) ([]*app.App, error) {
	ids := make([]int64, len(rows))
	for i, a := range rows {
		ids[i] = a.ID
	}
	events, err := h.store.LastEvents(ctx, ids, conditions)
	if err != nil {
		return nil, err
	}
	messages := make([]*app.App, len(rows))
	for i, a := range rows {
		if messages[i], err = h.assemble(a, events[a.ID]); err != nil {
			return nil, err
		}
	}
	return messages, nil
}

func (h *handler) assemble(a *store.App, events []store.Event) (*app.App, error) {
	spec, err := decodeSpec(a.Spec)
	if err != nil {
		return nil, err
	}
	observed, err := decodeObserved(a)
	if err != nil {
		return nil, err
	}
	out := &app.App{
		Metadata: &app.Meta{
			Id: idOf(a.Key), Revision: uint64(a.Revision), Labels: a.Labels, CodeBundleUri: a.CodeBundleURI, //nolint:gosec // counts from 1
		},
		Spec: spec,
		Status: &app.Status{
			AssignedCluster: a.Cluster, LastAssignedCluster: a.Cluster, Ingress: h.ingress(a),
			CreatedAt: timestamppb.New(a.CreatedAt), LastUpdatedAt: timestamppb.New(a.UpdatedAt), LastStartedAt: timestamp(a.StartedAt),
		},
	}
	if len(a.SourceCode) > 0 {
		out.Metadata.SourceCode = &task.SourceCode{}
		if err := proto.Unmarshal(a.SourceCode, out.GetMetadata().GetSourceCode()); err != nil {
			return nil, rpc.DataLoss(err, "the stored source of app %s cannot be read", a.Name)
		}
	}
	if observed.GetNamespace() != "" {
		out.Status.K8SMetadata = &app.K8SMetadata{Namespace: observed.GetNamespace()}
	}
	out.Status.CurrentReplicas = uint32(a.Ready) //nolint:gosec // a count
	for _, e := range events {
		condition, err := conditionOf(e)
		if err != nil {
			return nil, err
		}
		out.Status.Conditions = append(out.Status.Conditions, condition)
	}
	return out, nil
}

// ingress is where people reach the app. The address below the server's own comes first, since it works without DNS.
func (h *handler) ingress(a *store.App) *app.Ingress {
	in := &app.Ingress{PublicUrl: h.addresses.public(a.Key)}
	if a.CName != nil {
		in.CnameUrl = h.addresses.cname(*a.CName)
	}
	return in
}

func conditionOf(e store.Event) (*app.Condition, error) {
	actor, err := identity(e.Actor)
	if err != nil {
		return nil, err
	}
	return &app.Condition{
		LastTransitionTime: timestamppb.New(e.Time), DeploymentStatus: app.Status_DeploymentStatus(e.Status),
		Substate: app.Status_Substate(e.Substate), Message: e.Message, Revision: uint64(e.Revision), Actor: actor, //nolint:gosec // counts from 1
	}, nil
}

// identity decodes who did something; nil for the system.
func identity(body []byte) (*common.EnrichedIdentity, error) {
	if len(body) == 0 {
		return nil, nil //nolint:nilnil // documented
	}
	who := &common.EnrichedIdentity{}
	if err := proto.Unmarshal(body, who); err != nil {
		return nil, rpc.DataLoss(err, "a stored identity cannot be read")
	}
	return who, nil
}

func timestamp(t *time.Time) *timestamppb.Timestamp {
	if t == nil {
		return nil
	}
	return timestamppb.New(*t)
}
