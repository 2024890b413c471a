package artifacts_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// TestATaskIsTheSourceOfWhatItPublishes, whatever it says of the source.
func TestATaskIsTheSourceOfWhatItPublishes(t *testing.T) {
	w := newWorld(t)
	w.launch("own")
	w.launch("other")
	ctx := authz.WithIdentity(t.Context(), authz.Identity{
		Kind: authz.Task, Subject: "own/a0", Attempt: &authz.Attempt{Project: project, Domain: domain, Run: "own", Action: "a0", Number: 2},
	})
	publish := func(version string, changes ...change) *artifact.ArtifactSource {
		t.Helper()
		response, err := w.client.CreateArtifact(ctx, request("m", version, changes...))
		require.NoError(t, err)
		return response.GetArtifact().GetSpec().GetSource()
	}
	external := func(r *artifact.CreateArtifactRequest) {
		r.Spec.Source = &artifact.ArtifactSource{Source: &artifact.ArtifactSource_ExternalRef{ExternalRef: "hf://x"}}
	}
	for version, changes := range map[string][]change{"silent": nil, "said": {by("own", "a0")}} {
		source := publish(version, changes...).GetTaskAction()
		require.Equal(t, "own", source.GetAction().GetRun().GetName(), version)
		require.Equal(t, "a0", source.GetAction().GetName(), version)
		require.EqualValues(t, 2, source.GetAttempt(), "%s: the attempt that publishes", version)
	}
	require.Equal(t, "hf://x", publish("imported", external).GetExternalRef())
	require.ElementsMatch(t, []string{"m@silent", "m@said", "m@imported"},
		w.list(&artifact.ListArtifactsRequest{Request: filters(where("source_run", common.Filter_EQUAL, "own"))}))
	graph := w.lineage(&insightv1.GetLineageRequest{ArtifactId: &artifact.ArtifactIdentifier{Name: name("m"), Version: "imported"}})
	require.Equal(t, "own", graph.GetNodes()[graph.GetEdges()[0].GetFrom()].GetRun().GetName(), "what it imported, too")

	// It may point to what its run wrote, though it does not say which run it is.
	publish("data", value(file(w.dir("own", "a0")+"/model.bin")))

	for _, action := range [][2]string{{"other", "a0"}, {"own", "child"}} {
		_, err := w.client.CreateArtifact(ctx, request("m", "claimed", by(action[0], action[1])))
		refused(t, err, connect.CodeInvalidArgument, "spec.source.task_action.action")
		require.ErrorContains(t, err, "own/a0")
	}
	// People may publish what a run made.
	w.create("m", "by hand", by("other", "a0"))
	require.Nil(t, w.create("m", "from nowhere").GetSpec().GetSource())
}
