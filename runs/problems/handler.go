package problems

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/problems"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	maxLatest = 100 // failures of GetProblem
	maxChain  = 20  // actions of GetFailure
)

// Reader reads problems; problems.Store is one.
type Reader interface {
	List(ctx context.Context, filter problems.Filter) (page []problems.Problem, next string, err error)
	Get(ctx context.Context, scope schema.Scope, id int64) (*problems.Problem, error)
	Of(ctx context.Context, action int64) (*problems.Problem, error)
	Latest(ctx context.Context, id int64, limit int) ([]problems.Failure, error)
	LastSuccess(ctx context.Context, run ident.Run) (*problems.Success, error)
	Failed(ctx context.Context, action ident.Action) (*problems.Failure, error)
	OfRuns(ctx context.Context, scope schema.Scope, runs []string) ([]problems.Failure, error)
	Children(ctx context.Context, parent *problems.Failure) ([]problems.Failure, error)
}

// Handler serves ProblemService.
type Handler struct{ Reader Reader }

var _ insightv1connect.ProblemServiceHandler = (*Handler)(nil)

var orders = map[insightv1.ProblemOrder]problems.Order{
	insightv1.ProblemOrder_PROBLEM_ORDER_UNSPECIFIED: problems.ByLastSeen,
	insightv1.ProblemOrder_PROBLEM_ORDER_FAILURES:    problems.ByFailures,
	insightv1.ProblemOrder_PROBLEM_ORDER_FIRST_SEEN:  problems.ByFirstSeen,
}

// ListProblems implements insightv1connect.ProblemServiceHandler.
func (h *Handler) ListProblems(ctx context.Context, r *insightv1.ListProblemsRequest) (*insightv1.ListProblemsResponse, error) {
	scope, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	order, ok := orders[r.GetOrder()]
	if !ok {
		return nil, rpc.InvalidArgument("order", "there is no order %d", r.GetOrder())
	}
	filter := problems.Filter{Scope: scope, Task: r.GetTask(), Order: order, Limit: r.GetLimit(), Token: r.GetToken()}
	if since := r.GetSeenSince(); since != nil {
		if err := since.CheckValid(); err != nil {
			return nil, rpc.InvalidArgument("seen_since", "%s", err.Error())
		}
		filter.Since = since.AsTime()
	}
	page, next, err := h.Reader.List(ctx, filter)
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListProblemsResponse{Token: next}
	for i := range page {
		response.Problems = append(response.Problems, message(&page[i]))
	}
	return response, nil
}

// GetProblem implements insightv1connect.ProblemServiceHandler.
func (h *Handler) GetProblem(ctx context.Context, r *insightv1.GetProblemRequest) (*insightv1.GetProblemResponse, error) {
	scope, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	problem, err := h.Reader.Get(ctx, scope, int64(r.GetId())) //nolint:gosec // one that is too large is the id of no problem
	if err != nil {
		return nil, err
	}
	response := &insightv1.GetProblemResponse{Problem: message(problem)}
	latest, err := h.Reader.Latest(ctx, problem.ID, maxLatest)
	if err != nil {
		return nil, err
	}
	for i := range latest {
		f := &latest[i]
		response.Latest = append(response.Latest, &insightv1.ProblemFailure{ActionId: actionOf(f).Proto(), Task: f.Task, FailedAt: timestamppb.New(f.At)})
	}
	response.LastSuccess, err = h.lastSuccess(ctx, ident.Run{Project: scope.Project, Domain: scope.Domain, Name: problem.RunName})
	return response, err
}

// GetFailure implements insightv1connect.ProblemServiceHandler.
func (h *Handler) GetFailure(ctx context.Context, r *insightv1.GetFailureRequest) (*insightv1.GetFailureResponse, error) {
	action := ident.ActionOf(r.GetActionId())
	failure, err := h.Reader.Failed(ctx, action)
	if err != nil || failure == nil {
		return &insightv1.GetFailureResponse{}, err
	}
	response := &insightv1.GetFailureResponse{}
	for len(response.GetCausedBy()) < maxChain {
		cause, err := h.cause(ctx, failure)
		if err != nil {
			return nil, err
		}
		if cause == nil {
			break
		}
		failure = cause
		response.CausedBy = append(response.CausedBy, &insightv1.CausingAction{ActionId: actionOf(cause).Proto(), Task: cause.Task})
	}
	problem, err := h.Reader.Of(ctx, failure.ID)
	if err != nil {
		return nil, err
	}
	if problem != nil {
		response.Problem = message(problem)
	}
	response.LastSuccess, err = h.lastSuccess(ctx, action.Run)
	return response, err
}

// ListRunErrors implements insightv1connect.ProblemServiceHandler.
func (h *Handler) ListRunErrors(ctx context.Context, r *insightv1.ListRunErrorsRequest) (*insightv1.ListRunErrorsResponse, error) {
	scope, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	failures, err := h.Reader.OfRuns(ctx, scope, r.GetRuns())
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListRunErrorsResponse{Errors: make(map[string]string, len(failures))}
	for i := range failures {
		code, text := errorOf(&failures[i])
		if line := firstLine(text); line != "" {
			code += ": " + line
		}
		response.Errors[failures[i].RunName] = clip.Head(code, maxMessage)
	}
	return response, nil
}

// cause is the first child with the error of a failure; nil for an error of the action's own.
func (h *Handler) cause(ctx context.Context, failure *problems.Failure) (*problems.Failure, error) {
	children, err := h.Reader.Children(ctx, failure)
	if err != nil {
		return nil, err
	}
	var first *problems.Failure
	for i := range children {
		c := &children[i]
		if inherited(failure, [][]byte{c.Error}) && (first == nil || c.At.Before(first.At)) {
			first = c
		}
	}
	return first, nil
}

func (h *Handler) lastSuccess(ctx context.Context, run ident.Run) (*insightv1.SucceededRun, error) {
	found, err := h.Reader.LastSuccess(ctx, run)
	if err != nil || found == nil {
		return nil, err
	}
	return &insightv1.SucceededRun{RunId: found.Run.Proto(), EndedAt: timestamppb.New(found.Ended)}, nil
}

func placeOf(id *common.ProjectIdentifier) (schema.Scope, error) {
	switch {
	case id.GetName() == "":
		return schema.Scope{}, rpc.InvalidArgument("project_id.name", "is required")
	case id.GetDomain() == "":
		return schema.Scope{}, rpc.InvalidArgument("project_id.domain", "is required")
	}
	return schema.Scope{Project: id.GetName(), Domain: id.GetDomain()}, nil
}

func actionOf(f *problems.Failure) ident.Action {
	return ident.Action{Run: ident.Run{Project: f.Place.Project, Domain: f.Place.Domain, Name: f.RunName}, Name: f.Name}
}

func message(p *problems.Problem) *insightv1.Problem {
	run := ident.Run{Project: p.Scope.Project, Domain: p.Scope.Domain, Name: p.RunName}
	return &insightv1.Problem{
		Id: uint64(p.ID), ProjectId: &common.ProjectIdentifier{Name: p.Scope.Project, Domain: p.Scope.Domain}, //nolint:gosec // from 1
		Code: p.Code, Message: p.Message, File: p.At.File, Function: p.At.Function,
		Failures: uint64(p.Failures), Runs: uint64(p.Runs), Tasks: p.Tasks, //nolint:gosec // counts
		FirstSeen: timestamppb.New(p.FirstSeen), LastSeen: timestamppb.New(p.LastSeen),
		Latest: ident.Action{Run: run, Name: p.Name}.Proto(),
	}
}
