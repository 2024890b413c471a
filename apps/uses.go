package apps

import (
	"cmp"
	"context"
	"net/url"
	"strings"

	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// The lengths of pages for clients that name none.
const (
	defaultAppsOfRun = 50
	defaultUses      = 500
)

// usesOf are the artifacts and runs among the inputs of an app. Clients resolve outputs of runs when they deploy, and send
// their URIs as texts; the layout of the object store tells which action wrote them.
func usesOf(key store.Key, spec *app.Spec) *store.Uses {
	uses := &store.Uses{}
	for _, item := range spec.GetInputs().GetItems() {
		switch value := item.GetValue().(type) {
		case *app.Input_ArtifactId:
			uses.Artifacts = append(uses.Artifacts, artifactOf(value.ArtifactId))
		case *app.Input_StringValue:
			if !isLocation(value.StringValue) {
				continue
			}
			if writer, found := blobpath.WriterOf(value.StringValue, key.Project, key.Domain); found {
				uses.Runs = append(uses.Runs, writer.Run)
			}
		}
	}
	return uses
}

func artifactOf(id *core.ArtifactVersionId) store.Artifact {
	key := id.GetKey()
	return store.Artifact{Project: key.GetProject(), Domain: key.GetDomain(), Name: key.GetName(), Version: id.GetVersion()}
}

// usesMessage is what the inputs of an app name.
func usesMessage(key store.Key, spec *app.Spec) []*insightv1.AppUse {
	var found []*insightv1.AppUse
	for _, item := range spec.GetInputs().GetItems() {
		use := &insightv1.AppUse{Input: item.GetName()}
		switch value := item.GetValue().(type) {
		case *app.Input_ArtifactId:
			use.Used = &insightv1.AppUse_ArtifactUri{ArtifactUri: artifactURI(artifactOf(value.ArtifactId))}
		case *app.Input_AppId:
			use.Used = &insightv1.AppUse_AppId{AppId: value.AppId}
		case *app.Input_StringValue:
			if !isLocation(value.StringValue) {
				continue
			}
			use.Used = &insightv1.AppUse_Value{Value: value.StringValue}
			if writer, found := blobpath.WriterOf(value.StringValue, key.Project, key.Domain); found {
				use.ActionId = writer.Proto()
			}
		default:
			continue
		}
		found = append(found, use)
	}
	return found
}

// isLocation reports whether a text is a URI or a path.
func isLocation(text string) bool {
	return strings.Contains(text, "://") || strings.HasPrefix(text, "/")
}

// artifactURI is the URI by which people and the console refer to an artifact. Each part is escaped, since names may
// have characters that mean something in a URL.
func artifactURI(used store.Artifact) string {
	uri := "flyte://artifacts/" + url.PathEscape(used.Project) + "/" + url.PathEscape(used.Domain) + "/" + url.PathEscape(used.Name)
	if used.Version != "" {
		uri += "@" + url.PathEscape(used.Version)
	}
	return uri
}

// ListAppsOfRun implements insightv1connect.AppInsightServiceHandler.
func (h *handler) ListAppsOfRun(ctx context.Context, r *insightv1.ListAppsOfRunRequest) (*insightv1.ListAppsOfRunResponse, error) {
	run := ident.RunOf(r.GetRunId())
	if run.Project == "" || run.Domain == "" || run.Name == "" {
		return nil, rpc.InvalidArgument("run_id", "a project, a domain and a name are required")
	}
	before, err := listquery.Number(r.GetToken())
	if err != nil {
		return nil, err
	}
	limit := orDefault(r.GetLimit(), defaultAppsOfRun)
	found, err := h.store.OfRun(ctx, run, before, limit+1)
	if err != nil {
		return nil, err
	}
	answer := &insightv1.ListAppsOfRunResponse{}
	found, answer.Token = listquery.NumberPage(found, limit, func(a *store.App) int64 { return a.ID })
	messages, err := h.messages(ctx, found, listConditions)
	if err != nil {
		return nil, err
	}
	for i, message := range messages {
		of := &insightv1.AppOfRun{App: message}
		for _, use := range usesMessage(found[i].Key, message.GetSpec()) {
			if use.GetActionId() != nil && ident.ActionOf(use.GetActionId()).Run == run {
				of.Uses = append(of.Uses, use)
			}
		}
		answer.Apps = append(answer.Apps, of)
	}
	return answer, nil
}

// ListAppUses implements enginev1connect.AppUseServiceHandler.
func (h *handler) ListAppUses(ctx context.Context, r *enginev1.ListAppUsesRequest) (*enginev1.ListAppUsesResponse, error) {
	limit := cmp.Or(int(r.GetLimit()), defaultUses)
	var versions []store.Artifact
	for _, id := range r.GetArtifacts() {
		versions = append(versions, artifactOf(id))
	}
	var runs []ident.Run
	for _, id := range r.GetRuns() {
		runs = append(runs, ident.RunOf(id))
	}
	answer := &enginev1.ListAppUsesResponse{}
	ofArtifacts, err := h.store.ArtifactUsers(ctx, versions, limit)
	if err != nil {
		return nil, err
	}
	for _, user := range ofArtifacts {
		answer.Artifacts = append(answer.Artifacts, &enginev1.AppArtifactUse{
			Artifact: &core.ArtifactVersionId{Key: &core.ArtifactKey{Project: user.Project, Domain: user.Domain, Name: user.Name}, Version: user.Version},
			AppId:    idOf(user.App),
		})
	}
	ofRuns, err := h.store.RunUsers(ctx, runs, limit)
	if err != nil {
		return nil, err
	}
	for _, user := range ofRuns {
		answer.Runs = append(answer.Runs, &enginev1.AppRunUse{Run: user.Run.Proto(), AppId: idOf(user.App)})
	}
	return answer, nil
}
