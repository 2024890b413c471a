package conditions

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/assignees"
)

// answers is the permission to answer conditions.
const answers = "action.signal"

// Assignees keeps who is asked to answer; assignees.Store does.
type Assignees interface {
	Assign(ctx context.Context, action ident.Action, a assignees.Assignee) error
	Of(ctx context.Context, actions []int64) (map[int64]assignees.Assignee, error)
}

// People knows who has a permission; accessv1connect.AccessServiceClient does.
type People interface {
	ListHolders(ctx context.Context, r *accessv1.ListHoldersRequest) (*accessv1.ListHoldersResponse, error)
}

// AssignCondition implements insightv1connect.ConditionServiceHandler. Who is asked must be able to answer, else the condition would wait for
// someone who cannot.
func (h *Handler) AssignCondition(ctx context.Context, r *insightv1.AssignConditionRequest) (*insightv1.AssignConditionResponse, error) {
	response, err := h.assign(ctx, r)
	h.Assigned(ctx, r.GetSubject() == "", err)
	return response, err
}

func (h *Handler) assign(ctx context.Context, r *insightv1.AssignConditionRequest) (*insightv1.AssignConditionResponse, error) {
	assignee, err := h.assignee(ctx, r.GetSubject(), r.GetActionId().GetRun())
	if err != nil {
		return nil, err
	}
	if err := h.Assignees.Assign(ctx, ident.ActionOf(r.GetActionId()), assignee); err != nil {
		return nil, err
	}
	response := &insightv1.AssignConditionResponse{}
	if assignee.Subject != "" {
		response.Assignee = Message(assignee)
	}
	return response, nil
}

// assignee is the person with a subject, as it is known now; the zero value for an empty subject.
func (h *Handler) assignee(ctx context.Context, subject string, run *common.RunIdentifier) (assignees.Assignee, error) {
	found := assignees.Assignee{Subject: subject, By: caller.Subject(ctx), At: h.Clock.Now()}
	identity := authz.IdentityFrom(ctx)
	switch {
	case subject == "":
		return assignees.Assignee{}, nil
	case identity.Kind == authz.User && subject == identity.Subject: // the call itself takes the permission
		found.Name, found.Email = identity.Name, identity.Email
		return found, nil
	case h.People == nil:
		return assignees.Assignee{}, rpc.FailedPrecondition("this server does not know people, so a condition cannot be assigned to one")
	}
	known, err := h.People.ListHolders(ctx, &accessv1.ListHoldersRequest{
		Permission: answers, Subject: subject, Scope: &accessv1.Scope{Project: run.GetProject(), Domain: run.GetDomain()},
	})
	switch {
	case err != nil:
		return assignees.Assignee{}, err
	case known.GetOpen():
		return assignees.Assignee{}, rpc.FailedPrecondition("access is open, so all callers are the same and a condition cannot be assigned to one")
	case len(known.GetHolders()) == 0:
		return assignees.Assignee{}, rpc.InvalidArgument("subject", "%s is not known to have %s in %s/%s, and so could not answer",
			subject, answers, run.GetProject(), run.GetDomain())
	}
	found.Name, found.Email = known.GetHolders()[0].GetName(), known.GetHolders()[0].GetEmail()
	return found, nil
}

// Message is an assignee as the API has it.
func Message(a assignees.Assignee) *insightv1.Assignee {
	return &insightv1.Assignee{Subject: a.Subject, Name: a.Name, Email: a.Email, AssignedBy: a.By, AssignedAt: timestamppb.New(a.At)}
}
