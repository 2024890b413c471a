package runs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/org"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

func TestProjects(t *testing.T) {
	r := newReadFixture(t, nil)
	get := func(t *testing.T, id string) *project.Project {
		t.Helper()
		response, err := r.projects.GetProject(t.Context(), &project.GetProjectRequest{Id: id})
		require.NoError(t, err)
		return response.GetProject()
	}
	domains := []*project.Domain{
		{Id: "development", Name: "development"},
		{Id: "staging", Name: "staging"},
		{Id: "production", Name: "production"},
	}
	require.True(t, proto.Equal(&project.Project{Id: "flytesnacks", Name: "flytesnacks", Domains: domains}, get(t, "flytesnacks")))

	created := &project.Project{Id: "ml-1", Name: "Machines", Description: "they learn", Labels: &task.Labels{Values: map[string]string{"team": "ml"}}}
	_, err := r.projects.CreateProject(t.Context(), &project.CreateProjectRequest{Project: created})
	require.NoError(t, err)
	created.Domains = domains
	require.True(t, proto.Equal(created, get(t, "ml-1")))
	_, err = r.projects.CreateProject(t.Context(), &project.CreateProjectRequest{Project: created})
	refused(t, err, connect.CodeAlreadyExists, "project ml-1")

	updated := &project.Project{Id: "ml-1", Name: "New", State: project.ProjectState_PROJECT_STATE_ARCHIVED}
	_, err = r.projects.UpdateProject(t.Context(), &project.UpdateProjectRequest{Project: updated})
	require.NoError(t, err)
	updated.Domains = domains
	require.True(t, proto.Equal(updated, get(t, "ml-1")), "an update replaces everything, and archived projects can be read")

	_, err = r.projects.UpdateProject(t.Context(), &project.UpdateProjectRequest{Project: &project.Project{Id: "nope"}})
	refused(t, err, connect.CodeNotFound, "project nope")
	_, err = r.projects.GetProject(t.Context(), &project.GetProjectRequest{Id: "nope"})
	refused(t, err, connect.CodeNotFound, "project nope")
	_, err = r.projects.GetProject(t.Context(), &project.GetProjectRequest{})
	refused(t, err, connect.CodeInvalidArgument, "id")
	for name, wrong := range map[string]*project.Project{
		"nil":       nil,
		"no id":     {Name: "x"},
		"path":      {Id: "../x"},
		"case":      {Id: "Ml"},
		"dash":      {Id: "ml-"},
		"too long":  {Id: strings.Repeat("a", 64)},
		"state":     {Id: "a", State: 42},
		"NUL":       {Id: "a", Description: "a\x00b"},
		"NUL label": {Id: "a", Labels: &task.Labels{Values: map[string]string{"a": "\x00"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.projects.CreateProject(t.Context(), &project.CreateProjectRequest{Project: wrong})
			refused(t, err, connect.CodeInvalidArgument, "project.")
		})
	}
}

func TestArchivedProjectsAcceptNoRuns(t *testing.T) {
	f := newTrackedFixture(t)
	_, err := projectconnect.NewProjectServiceClient(rpc.InProcess(f.mux), rpc.InProcessURL).UpdateProject(t.Context(), &project.UpdateProjectRequest{
		Project: &project.Project{Id: "flytesnacks", State: project.ProjectState_PROJECT_STATE_ARCHIVED},
	})
	require.NoError(t, err)
	const words = "cannot create run: project flytesnacks is archived"
	_, err = f.runs.CreateRun(t.Context(), namedRun("r1"))
	refused(t, err, connect.CodeFailedPrecondition, words)
	_, err = f.tracked.CreateRun(t.Context(), f.request("local-1"))
	refused(t, err, connect.CodeFailedPrecondition, words)
}

func TestReservedProject(t *testing.T) {
	s := newReadFixture(t, nil)
	_, err := s.projects.CreateProject(t.Context(), &project.CreateProjectRequest{Project: &project.Project{Id: "uploads"}})
	refused(t, err, connect.CodeInvalidArgument, "project.id")
}

func TestListProjects(t *testing.T) {
	r := newReadFixture(t, nil)
	for n := range 5 {
		r.clock.Step(time.Second)
		p := &project.Project{Id: fmt.Sprintf("p%d", n), Name: fmt.Sprintf("Project %d", n%2), State: project.ProjectState(n % 2)}
		_, err := r.projects.CreateProject(t.Context(), &project.CreateProjectRequest{Project: p})
		require.NoError(t, err)
	}
	for _, test := range []struct{ filters, want string }{
		{"", "flytesnacks p0 p2 p4"}, // archived ones are hidden
		{"eq(state, 0)", "flytesnacks p0 p2 p4"},
		{"eq(state, 1)", "p1 p3"},
		{"eq(state, archived)", "p1 p3"},
		{"contains(name, ject 1)+eq(state, 1)", "p1 p3"},
		{"value_in(id, p1;p2;none)", "p1 p2"},
		{"ne(id, p1)+eq(name, Project 1)", "p3"},
	} {
		t.Run(test.filters, func(t *testing.T) {
			request := &project.ListProjectsRequest{
				Limit: 2, Filters: test.filters, SortBy: &common.Sort{Key: "created_at", Direction: common.Sort_ASCENDING},
			}
			var ids []string
			for {
				response, err := r.projects.ListProjects(t.Context(), request)
				require.NoError(t, err)
				for _, p := range response.GetProjects().GetProjects() {
					ids = append(ids, p.GetId())
					require.Len(t, p.GetDomains(), 3)
				}
				if request.Token = response.GetProjects().GetToken(); request.GetToken() == "" {
					break
				}
			}
			require.Equal(t, test.want, strings.Join(ids, " "))
			request.Limit = 0
			response, err := r.projects.ListProjects(t.Context(), request)
			require.NoError(t, err)
			require.Len(t, response.GetProjects().GetProjects(), len(ids), "no limit means all")
		})
	}
	for filters, text := range map[string]string{
		"nonsense": "filters: ", "eq(nope, 1)": "filters[0].field", "contains(state, 1)": "filters[0].function", "eq(state, x)": "filters[0].values[0]",
	} {
		_, err := r.projects.ListProjects(t.Context(), &project.ListProjectsRequest{Filters: filters})
		refused(t, err, connect.CodeInvalidArgument, text)
	}
	_, err := r.projects.ListProjects(t.Context(), &project.ListProjectsRequest{Token: "5"})
	refused(t, err, connect.CodeInvalidArgument, "token: ")
}

func TestDomains(t *testing.T) {
	r := newReadFixture(t, nil)
	list, err := r.domains.ListDomains(t.Context(), &org.ListDomainsRequest{Org: "acme"})
	require.NoError(t, err)
	require.Len(t, list.GetDomains(), 3)
	one, err := r.domains.GetDomain(t.Context(), &org.GetDomainRequest{Org: "acme", Id: "staging"})
	require.NoError(t, err)
	require.Equal(t, "staging", one.GetDomain().GetId())
	_, err = r.domains.GetDomain(t.Context(), &org.GetDomainRequest{Org: "acme", Id: "nope"})
	refused(t, err, connect.CodeNotFound, "nope")
	_, err = r.domains.CreateDomain(t.Context(), &org.CreateDomainRequest{Org: "acme", Id: "new"})
	refused(t, err, connect.CodeUnimplemented, "configuration")
}
