package artifactlink

import (
	"cmp"
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// UseReader reads uses; lists.Reader does.
type UseReader interface {
	ArtifactUses(ctx context.Context, artifacts []schema.ArtifactKey, runs []ident.Run, limit int) ([]lists.ArtifactUse, error)
}

// Uses serves ArtifactUseService.
type Uses struct{ Reader UseReader }

// maxUses is how many uses one call returns when it asks for no number.
const maxUses = 500

// ListArtifactUses implements enginev1connect.ArtifactUseServiceHandler.
func (u Uses) ListArtifactUses(ctx context.Context, r *enginev1.ListArtifactUsesRequest) (*enginev1.ListArtifactUsesResponse, error) {
	var artifacts []schema.ArtifactKey
	for _, id := range r.GetArtifacts() {
		key := id.GetKey()
		artifacts = append(artifacts, schema.ArtifactKey{Project: key.GetProject(), Domain: key.GetDomain(), Name: key.GetName(), Version: id.GetVersion()})
	}
	var runs []ident.Run
	for _, id := range r.GetRuns() {
		runs = append(runs, ident.RunOf(id))
	}
	found, err := u.Reader.ArtifactUses(ctx, artifacts, runs, cmp.Or(int(r.GetLimit()), maxUses))
	if err != nil {
		return nil, err
	}
	response := &enginev1.ListArtifactUsesResponse{}
	for _, use := range found {
		response.Uses = append(response.Uses, &enginev1.ArtifactUse{
			Artifact: &core.ArtifactVersionId{
				Key: &core.ArtifactKey{Project: use.Artifact.Project, Domain: use.Artifact.Domain, Name: use.Artifact.Name}, Version: use.Artifact.Version,
			},
			Run: use.Run.Proto(), Users: usersOf(use.Users),
		})
	}
	return response, nil
}

func usersOf(users []lists.ArtifactUser) (found []*enginev1.ArtifactUser) {
	for _, user := range users {
		found = append(found, &enginev1.ArtifactUser{Action: user.Action, Task: user.Task})
	}
	return found
}
