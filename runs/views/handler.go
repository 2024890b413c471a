// Package views serves ViewService: queries of runs with a name, of a person or of a project.
package views

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/views"
)

// Store keeps views; views.Store is one.
type Store interface {
	List(ctx context.Context, owner views.Owner) ([]views.View, error)
	Put(ctx context.Context, owner views.Owner, v views.View) error
	Delete(ctx context.Context, owner views.Owner, name string) error
}

// Projects reads a project, or returns a NotFound error; catalog.Projects does.
type Projects interface {
	Get(ctx context.Context, id string) (catalog.Project, error)
}

// Handler serves ViewService. All fields are required.
type Handler struct {
	Store    Store
	Projects Projects
	Clock    clock.Clock
}

var _ insightv1connect.ViewServiceHandler = (*Handler)(nil)

// ListViews implements insightv1connect.ViewServiceHandler.
func (h *Handler) ListViews(ctx context.Context, r *insightv1.ListViewsRequest) (*insightv1.ListViewsResponse, error) {
	if r.GetProjectId().GetName() == "" {
		return nil, rpc.InvalidArgument("project_id.name", "is required")
	}
	response := &insightv1.ListViewsResponse{}
	for _, owner := range []views.Owner{own(ctx), {Project: r.GetProjectId().GetName()}} {
		found, err := h.Store.List(ctx, owner)
		if err != nil {
			return nil, err
		}
		for _, v := range found {
			response.Views = append(response.Views, &insightv1.View{
				Name: v.Name, Query: v.Query, Order: insightv1.RunOrder(v.Order), Pinned: v.Pinned, Shared: owner.Project != "",
				UpdatedBy: v.UpdatedBy, UpdatedAt: timestamppb.New(v.UpdatedAt),
			})
		}
	}
	return response, nil
}

// SaveView implements insightv1connect.ViewServiceHandler.
func (h *Handler) SaveView(ctx context.Context, r *insightv1.SaveViewRequest) (*insightv1.SaveViewResponse, error) {
	return &insightv1.SaveViewResponse{}, h.put(ctx, own(ctx), r.GetView())
}

// DeleteView implements insightv1connect.ViewServiceHandler.
func (h *Handler) DeleteView(ctx context.Context, r *insightv1.DeleteViewRequest) (*insightv1.DeleteViewResponse, error) {
	return &insightv1.DeleteViewResponse{}, h.Store.Delete(ctx, own(ctx), r.GetName())
}

// ShareView implements insightv1connect.ViewServiceHandler.
func (h *Handler) ShareView(ctx context.Context, r *insightv1.ShareViewRequest) (*insightv1.ShareViewResponse, error) {
	if r.GetProjectId().GetName() == "" {
		return nil, rpc.InvalidArgument("project_id.name", "is required")
	}
	if _, err := h.Projects.Get(ctx, r.GetProjectId().GetName()); err != nil {
		return nil, err
	}
	return &insightv1.ShareViewResponse{}, h.put(ctx, views.Owner{Project: r.GetProjectId().GetName()}, r.GetView())
}

// DeleteSharedView implements insightv1connect.ViewServiceHandler.
func (h *Handler) DeleteSharedView(ctx context.Context, r *insightv1.DeleteSharedViewRequest) (*insightv1.DeleteSharedViewResponse, error) {
	if r.GetProjectId().GetName() == "" {
		return nil, rpc.InvalidArgument("project_id.name", "is required")
	}
	return &insightv1.DeleteSharedViewResponse{}, h.Store.Delete(ctx, views.Owner{Project: r.GetProjectId().GetName()}, r.GetName())
}

func (h *Handler) put(ctx context.Context, owner views.Owner, view *insightv1.View) error {
	name := strings.TrimSpace(view.GetName())
	if name == "" {
		return rpc.InvalidArgument("view.name", "is required")
	}
	if _, known := insightv1.RunOrder_name[int32(view.GetOrder())]; !known {
		return rpc.InvalidArgument("view.order", "there is no order %d", view.GetOrder())
	}
	var problem *query.SyntaxError
	if _, err := query.Parse(view.GetQuery()); errors.As(err, &problem) {
		return rpc.InvalidArgument("view.query", "%s", problem.Error())
	}
	return h.Store.Put(ctx, owner, views.View{
		Name: name, Query: view.GetQuery(), Order: int16(view.GetOrder()), Pinned: view.GetPinned(), //nolint:gosec // an enum of few values
		UpdatedBy: caller.Subject(ctx), UpdatedAt: h.Clock.Now(),
	})
}

// own is the owner of the views of who calls. In an open installation all callers are the same.
func own(ctx context.Context) views.Owner { return views.Owner{Subject: caller.Subject(ctx)} }
