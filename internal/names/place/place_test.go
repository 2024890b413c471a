package place_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/internal/names/place"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// states are projects with the domain development.
type states map[string]project.ProjectState

func (s states) GetProject(_ context.Context, r *project.GetProjectRequest) (*project.GetProjectResponse, error) {
	state, ok := s[r.GetId()]
	if !ok {
		return nil, rpc.NotFound("project %s does not exist", r.GetId())
	}
	return &project.GetProjectResponse{Project: &project.Project{
		Id: r.GetId(), State: state, Domains: []*project.Domain{{Id: "development"}},
	}}, nil
}

func TestAccepts(t *testing.T) {
	projects := states{
		"open": project.ProjectState_PROJECT_STATE_ACTIVE, "old": project.ProjectState_PROJECT_STATE_ARCHIVED,
		"older": project.ProjectState_PROJECT_STATE_SYSTEM_ARCHIVED, "generated": project.ProjectState_PROJECT_STATE_SYSTEM_GENERATED,
	}
	for _, c := range []struct {
		id, domain     string
		exists, accept rpc.Kind
		text           string
	}{
		{id: "open", domain: "development"},
		{id: "generated", domain: "development"},
		{"old", "development", 0, rpc.KindFailedPrecondition, "cannot create app: project old is archived"},
		{"older", "development", 0, rpc.KindFailedPrecondition, "cannot create app: project older is archived"},
		{"none", "development", rpc.KindNotFound, rpc.KindNotFound, "project none does not exist"},
		{"open", "staging", rpc.KindNotFound, rpc.KindNotFound, "project open has no domain staging"},
	} {
		t.Run(c.id+" "+c.domain, func(t *testing.T) {
			if err := place.Exists(t.Context(), projects, c.id, c.domain); c.exists == 0 {
				require.NoError(t, err)
			} else {
				require.Equal(t, c.exists, rpc.KindOf(err))
			}
			err := place.Accepts(t.Context(), projects, c.id, c.domain, "app")
			if c.accept == 0 {
				require.NoError(t, err)
				return
			}
			require.Equal(t, c.accept, rpc.KindOf(err))
			require.EqualError(t, err, c.text)
		})
	}
}
