// Package projects serves ProjectService and DomainService, creates the configured projects at start, and checks for
// other packages that a project and a domain exist.
package projects

import (
	"context"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// Store keeps projects; catalog.Projects does.
type Store interface {
	Getter
	Create(ctx context.Context, p catalog.Project, now time.Time) error
	Update(ctx context.Context, p catalog.Project, now time.Time) error
	List(ctx context.Context, filters string, request *common.ListRequest) ([]catalog.Project, string, error)
}

// Handler serves ProjectService.
type Handler struct {
	store   Store
	domains []string
	clock   clock.Clock
}

var _ projectconnect.ProjectServiceHandler = (*Handler)(nil)

// New returns the handler. Every project has all domains.
func New(projects Store, domains []string, c clock.Clock) *Handler {
	return &Handler{store: projects, domains: domains, clock: c}
}

// CreateProject implements projectconnect.ProjectServiceHandler.
func (h *Handler) CreateProject(ctx context.Context, request *project.CreateProjectRequest) (*project.CreateProjectResponse, error) {
	row, err := projectRow(request.GetProject())
	if err != nil {
		return nil, err
	}
	if row.ID == blobpath.UploadsName {
		return nil, rpc.InvalidArgument("project.id", "%q is reserved: the object store uses it for uploads; choose another id", row.ID)
	}
	if err := h.store.Create(ctx, row, h.clock.Now()); err != nil {
		return nil, err
	}
	return &project.CreateProjectResponse{}, nil
}

// UpdateProject implements projectconnect.ProjectServiceHandler. It replaces everything but the id; domains are
// configuration and ignored.
func (h *Handler) UpdateProject(ctx context.Context, request *project.UpdateProjectRequest) (*project.UpdateProjectResponse, error) {
	row, err := projectRow(request.GetProject())
	if err != nil {
		return nil, err
	}
	if err := h.store.Update(ctx, row, h.clock.Now()); err != nil {
		return nil, err
	}
	return &project.UpdateProjectResponse{}, nil
}

// GetProject implements projectconnect.ProjectServiceHandler.
func (h *Handler) GetProject(ctx context.Context, request *project.GetProjectRequest) (*project.GetProjectResponse, error) {
	if request.GetId() == "" {
		return nil, rpc.InvalidArgument("id", "is required")
	}
	row, err := h.store.Get(ctx, request.GetId())
	if err != nil {
		return nil, err
	}
	return &project.GetProjectResponse{Project: h.message(row)}, nil
}

// ListProjects implements projectconnect.ProjectServiceHandler.
func (h *Handler) ListProjects(ctx context.Context, request *project.ListProjectsRequest) (*project.ListProjectsResponse, error) {
	rows, token, err := h.store.List(ctx, request.GetFilters(), &common.ListRequest{
		Limit: request.GetLimit(), Token: request.GetToken(), SortBy: request.GetSortBy(), //nolint:staticcheck // the request has one sort key
	})
	if err != nil {
		return nil, err
	}
	page := &project.Projects{Token: token}
	for _, row := range rows {
		page.Projects = append(page.Projects, h.message(row))
	}
	return &project.ListProjectsResponse{Projects: page}, nil
}

func projectRow(message *project.Project) (catalog.Project, error) {
	if message.GetId() == "" {
		return catalog.Project{}, rpc.InvalidArgument("project.id", "is required")
	}
	if !ident.IsProject(message.GetId()) {
		return catalog.Project{}, rpc.InvalidArgument("project.id", "%q is not a valid project id: it %s", message.GetId(), ident.ProjectRule)
	}
	if _, known := project.ProjectState_name[int32(message.GetState())]; !known {
		return catalog.Project{}, rpc.InvalidArgument("project.state", "unknown project state %d", message.GetState())
	}
	texts := map[string]string{"project.name": message.GetName(), "project.description": message.GetDescription()}
	for key, value := range message.GetLabels().GetValues() {
		texts["project.labels["+key+"]"] = key + value
	}
	for field, text := range texts {
		if strings.ContainsRune(text, 0) {
			return catalog.Project{}, rpc.InvalidArgument(field, "must not contain NUL")
		}
	}
	row := catalog.Project{
		ID: message.GetId(), Name: message.GetName(), Description: message.GetDescription(),
		Labels: message.GetLabels().GetValues(), State: int16(message.GetState()), //nolint:gosec // a known state
	}
	if row.Name == "" {
		row.Name = row.ID
	}
	return row, nil
}

func (h *Handler) message(row catalog.Project) *project.Project {
	out := &project.Project{
		Id: row.ID, Name: row.Name, Description: row.Description, State: project.ProjectState(row.State),
	}
	if len(row.Labels) > 0 {
		out.Labels = &task.Labels{Values: row.Labels}
	}
	for _, domain := range h.domains {
		out.Domains = append(out.Domains, &project.Domain{Id: domain, Name: domain})
	}
	return out
}
