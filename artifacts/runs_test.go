package artifacts_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	appstore "github.com/flyte-binary/flyte-binary/apps/store"
	artifactstore "github.com/flyte-binary/flyte-binary/artifacts/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	projectservice "github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/runs"
	runstore "github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

func produced(output, artifactName string) *task.ProducedArtifact {
	return &task.ProducedArtifact{Output: output, Name: artifactName, Type: integer()}
}

// TestDeclaredOutputsAreRegisteredOnce: also when the registry is away when the action ends, when the process ends
// between, and when the registration is repeated. What is wrong with one declaration keeps no other from being registered.
func TestDeclaredOutputsAreRegisteredOnce(t *testing.T) {
	w := newWorld(t)
	w.away.Store(true)
	w.launch("r")
	w.succeed("r", &task.Outputs{
		Literals: []*task.NamedLiteral{{Name: "o0", Value: file(w.dir("r", "a0") + "/model.bin")}, {Name: "o1", Value: number(7)}},
		ProducedArtifacts: []*task.ProducedArtifact{
			produced("o0", "model"), produced("o1", "model"), produced("o9", "gone"), produced("o1", "no good"),
			{Output: "o1", Name: "named", Version: "mine", Type: integer()},
		},
	})
	require.Equal(t, 1, w.count(`SELECT count(*) FROM produced_outputs`))
	w.halt()
	w.away.Store(false)
	w.start()
	w.eventually("the outputs are registered", func() bool { return w.count(`SELECT count(*) FROM produced_outputs`) == 0 })
	require.Equal(t, []string{"named@mine", "model@r-a0-1-o1", "model@r-a0-1"}, w.list(&artifact.ListArtifactsRequest{}))
	require.Equal(t, []string{"named@mine", "model@r-a0-1-o1", "model@r-a0-1"}, w.list(&artifact.ListArtifactsRequest{
		Request: filters(where("source_run", common.Filter_EQUAL, "r"), where("source_action", common.Filter_EQUAL, "a0")),
	}))
	got, err := w.get("model", "r-a0-1")
	require.NoError(t, err)
	require.Equal(t, "a0", got.GetSpec().GetSource().GetTaskAction().GetAction().GetName())
	require.EqualValues(t, 1, got.GetSpec().GetSource().GetTaskAction().GetAttempt())
	require.Equal(t, "anonymous", got.GetCreatedBy().GetUser().GetId().GetSubject())

	again, err := w.registry.RegisterOutputs(t.Context(), &enginev1.RegisterOutputsRequest{
		ActionId: actionID("r", "a0"), Attempt: 1, OutputUri: w.dir("r", "a0"),
	})
	require.NoError(t, err)
	require.Zero(t, again.GetCreated())
	require.EqualValues(t, 3, again.GetExisting())
	require.Len(t, again.GetRefused(), 2)
}

// TestATaskThatDeclaresWrongPartitionsKeepsItsOutput: the version is stored with the difference.
func TestATaskThatDeclaresWrongPartitionsKeepsItsOutput(t *testing.T) {
	w := newWorld(t)
	_, err := w.client.DeclareArtifact(t.Context(), &artifact.DeclareArtifactRequest{
		Name: name("m"), PartitionSchema: &artifact.ArtifactPartitionSchema{PartitionKeys: []string{"region"}},
	})
	require.NoError(t, err)
	w.launch("r")
	w.succeed("r", &task.Outputs{Literals: []*task.NamedLiteral{{Name: "o0", Value: number(7)}}, ProducedArtifacts: []*task.ProducedArtifact{produced("o0", "m")}})
	w.eventually("the output is registered", func() bool { return w.count(`SELECT count(*) FROM artifact_versions`) == 1 })
	got, err := w.get("m", "")
	require.NoError(t, err)
	require.Equal(t, []string{"region"}, got.GetPartitionSchemaMismatch().GetExpected().GetPartitionKeys())
}

// TestOutputsThatAreNotThereAreGivenUp: the loop does not try forever, and others are not held up.
func TestOutputsThatAreNotThereAreGivenUp(t *testing.T) {
	w := newWorld(t)
	w.launch("r")
	w.succeed("r", &task.Outputs{})
	w.eventually("nothing is left", func() bool { return w.count(`SELECT count(*) FROM produced_outputs`) == 0 })
	_, err := w.registry.RegisterOutputs(t.Context(), &enginev1.RegisterOutputsRequest{ActionId: actionID("r", "a0"), Attempt: 1, OutputUri: w.dir("r", "a0") + "0"})
	refused(t, err, connect.CodeNotFound, "no outputs exist")
}

// TestAnArtifactMayPointToWhatItsRunWasHanded, and only with that run as its source.
func TestAnArtifactMayPointToWhatItsRunWasHanded(t *testing.T) {
	w := newWorld(t)
	handed := w.blobs.Root() + "/other/development/x.0123456789abcdef/a0/1/dir"
	w.launch("r", &task.NamedLiteral{Name: "x", Value: file(handed)})
	_, err := w.client.CreateArtifact(t.Context(), request("m", "1", value(file(handed+"/part"))))
	refused(t, err, connect.CodeInvalidArgument, "spec.value")
	w.create("m", "1", value(file(handed+"/part")), by("r", "a0"))
	_, err = w.client.CreateArtifact(t.Context(), request("m", "2", value(file(handed+"else")), by("r", "a0")))
	refused(t, err, connect.CodeInvalidArgument, "spec.value")

	raw := w.blobs.Root() + "/_raw"
	w.launchWith("elsewhere", &task.RunSpec{RawDataStorage: &task.RawDataStorage{RawDataPrefix: raw}})
	w.create("m", "2", value(file(raw+"/x")), by("elsewhere", "a0"))
	_, err = w.client.CreateArtifact(t.Context(), request("m", "3", value(file(raw+"/x")), by("r", "a0")))
	refused(t, err, connect.CodeInvalidArgument, "spec.value")
}

// TestLineageGoesBothWays: raw → run → model → run → report, and a parent that was never published.
func TestLineageGoesBothWays(t *testing.T) {
	w := newWorld(t)
	raw := w.create("raw", "1", from("source", "0"))
	w.launch("train", &task.NamedLiteral{Name: "x", Value: raw.GetSpec().GetValue()})
	model := w.create("model", "1", by("train", "a0"), from("raw", "1"))
	list := &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{Literals: []*core.Literal{model.GetSpec().GetValue(), raw.GetSpec().GetValue()}}}}
	w.launch("report", &task.NamedLiteral{Name: "all", Value: list})
	w.create("report", "1", by("report", "a0"))

	text := func(r *insightv1.GetLineageResponse) (edges []string) {
		label := func(at uint32) string {
			node := r.GetNodes()[at]
			if run := node.GetRun(); run != nil {
				return run.GetName() + "()"
			}
			if node.GetMissing() {
				return node.GetArtifact().GetName().GetName() + "?"
			}
			return node.GetArtifact().GetName().GetName()
		}
		for _, edge := range r.GetEdges() {
			edges = append(edges, label(edge.GetFrom())+" "+edge.GetKind().String()[len("KIND_"):]+" "+label(edge.GetTo()))
		}
		return edges
	}
	of := func(artifactName string) *artifact.ArtifactIdentifier {
		return &artifact.ArtifactIdentifier{Name: name(artifactName), Version: "1"}
	}
	full := []string{
		"train() PRODUCED model", "raw PARENT model", "source? PARENT raw", "raw USED train()", "model USED report()", "report() PRODUCED report",
	}
	whole := w.lineage(&insightv1.GetLineageRequest{ArtifactId: of("model")})
	require.Subset(t, text(whole), full)
	require.False(t, whole.GetTruncated())
	require.Equal(t, "model", whole.GetNodes()[0].GetArtifact().GetName().GetName())
	require.NotNil(t, whole.GetNodes()[0].GetCreatedAt())
	levels := map[string]int32{}
	for _, node := range whole.GetNodes() {
		levels[node.GetArtifact().GetName().GetName()+node.GetRun().GetName()+map[bool]string{true: "()"}[node.GetRun() != nil]] = node.GetLevel()
	}
	require.Equal(t, map[string]int32{"model": 0, "train()": -1, "raw": -1, "source": -2, "report()": 1, "report": 2}, levels)

	down := text(w.lineage(&insightv1.GetLineageRequest{ArtifactId: of("raw")}))
	require.Subset(t, down, []string{"raw USED train()", "raw USED report()", "raw PARENT model", "train() PRODUCED model"})
	run := text(w.lineage(&insightv1.GetLineageRequest{RunId: runID("report")}))
	require.Subset(t, run, []string{"model USED report()", "raw USED report()", "report() PRODUCED report"})
	near := w.lineage(&insightv1.GetLineageRequest{ArtifactId: of("model"), Depth: 1})
	require.True(t, near.GetTruncated())
	require.Len(t, near.GetNodes(), 4)
	_, err := w.insight.GetLineage(t.Context(), &insightv1.GetLineageRequest{})
	refused(t, err, connect.CodeInvalidArgument, "artifact_id")
	_, err = w.insight.GetLineage(t.Context(), &insightv1.GetLineageRequest{ArtifactId: of("none")})
	refused(t, err, connect.CodeNotFound, "none")
}

// TestLineageEndsAtApps: those that use a version, and those that use an output of a run, each once.
func TestLineageEndsAtApps(t *testing.T) {
	w := newWorld(t)
	w.launch("train")
	model := w.create("model", "1", by("train", "a0"))
	w.launch("report", &task.NamedLiteral{Name: "x", Value: model.GetSpec().GetValue()})
	version := &app.Input_ArtifactId{ArtifactId: &core.ArtifactVersionId{Key: &core.ArtifactKey{Project: project, Domain: domain, Name: "model"}, Version: "1"}}
	w.deploy("chat", &app.Input{Name: "model", Value: version})
	w.deploy("board",
		&app.Input{Name: "model", Value: version},
		&app.Input{Name: "report", Value: &app.Input_StringValue{StringValue: w.dir("report", "a0") + "/x/report.html"}},
	)
	text := func(r *insightv1.GetLineageResponse) (edges []string) {
		label := func(at uint32) string {
			node := r.GetNodes()[at]
			require.Equal(t, node.GetApp() != nil, node.GetArtifact() == nil && node.GetRun() == nil)
			require.False(t, node.GetMissing())
			return node.GetArtifact().GetName().GetName() + node.GetRun().GetName() + node.GetApp().GetName()
		}
		for _, edge := range r.GetEdges() {
			edges = append(edges, label(edge.GetFrom())+" "+edge.GetKind().String()[len("KIND_"):]+" "+label(edge.GetTo()))
		}
		return edges
	}
	of := &artifact.ArtifactIdentifier{Name: name("model"), Version: "1"}
	whole := w.lineage(&insightv1.GetLineageRequest{ArtifactId: of})
	require.ElementsMatch(t, []string{
		"train PRODUCED model", "model USED report", "model USED chat", "model USED board", "report USED board",
	}, text(whole))
	require.False(t, whole.GetTruncated())
	require.ElementsMatch(t, []string{"report USED board", "model USED report", "train PRODUCED model"}, text(w.lineage(&insightv1.GetLineageRequest{RunId: runID("report")})))
	near := w.lineage(&insightv1.GetLineageRequest{ArtifactId: of, Depth: 1})
	require.Contains(t, text(near), "report USED board", "both are one step away")
	for _, node := range whole.GetNodes() {
		if node.GetApp() != nil {
			require.EqualValues(t, 1, node.GetLevel())
		}
	}
}

// TestArtifactsProtectTheirDataFromRetention until they are deleted.
func TestArtifactsProtectTheirDataFromRetention(t *testing.T) {
	w := newWorld(t)
	config := runs.DefaultConfig().Retention
	config.Enabled, config.MaxAge, config.Grace = true, time.Nanosecond, 0
	keeper, err := runs.NewRetention(config, runs.Deps{Pool: w.pool, Blobs: w.blobs, Logger: zerolog.Nop(), Retention: runs.Retention{InUse: []string{artifactstore.InUse("public")}}})
	require.NoError(t, err)
	for _, run := range []string{"kept", "gone"} {
		w.launch(run)
		data := w.dir(run, "a0") + "/model.bin"
		require.NoError(t, w.blobs.WriteAll(t.Context(), data, []byte("weights")))
		outputs := &task.Outputs{Literals: []*task.NamedLiteral{{Name: "o0", Value: file(data)}}}
		if run == "kept" {
			outputs.ProducedArtifacts = []*task.ProducedArtifact{produced("o0", "model")}
		}
		w.succeed(run, outputs)
	}
	w.eventually("the outputs are registered", func() bool { return w.count(`SELECT count(*) FROM produced_outputs`) == 0 })
	got, err := w.get("model", "")
	require.NoError(t, err)
	preview, err := keeper.Preview(t.Context(), 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, preview.Runs)
	w.away.Store(true)
	_, err = w.pool.Exec(t.Context(), `INSERT INTO unread_inputs (action_id, run_id, next_at) SELECT id, run_id, now() FROM actions`)
	require.NoError(t, err)
	_, err = w.pool.Exec(t.Context(), `INSERT INTO artifact_uses SELECT run_id, 'p', 'd', 'x', '1' FROM actions`)
	require.NoError(t, err)
	deleted, err := keeper.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	require.Equal(t, 1, w.count(`SELECT count(*) FROM unread_inputs`))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM artifact_uses`))
	_, err = w.blobs.Stat(t.Context(), got.GetSpec().GetValue().GetScalar().GetBlob().GetUri())
	require.NoError(t, err, "the data of the artifact")
	_, err = w.client.CreateArtifact(t.Context(), request("late", "1", by("gone", "a0")))
	refused(t, err, connect.CodeInvalidArgument, "does not exist")

	w.remove("model", got.GetArtifactId().GetVersion())
	deleted, err = keeper.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	require.Zero(t, w.count(`SELECT count(*) FROM actions WHERE parent_name IS NULL`))
}

// TestArtifactsOfOtherProjectsProtectNothing: a version may point to what its run was handed, which may be data of another project. It does
// not decide how long these stay.
func TestArtifactsOfOtherProjectsProtectNothing(t *testing.T) {
	w := newWorld(t)
	config := runs.DefaultConfig().Retention
	config.Enabled, config.MaxAge, config.Grace = true, time.Nanosecond, 0
	keeper, err := runs.NewRetention(config, runs.Deps{Pool: w.pool, Blobs: w.blobs, Logger: zerolog.Nop(), Retention: runs.Retention{InUse: []string{artifactstore.InUse("public")}}})
	require.NoError(t, err)
	w.launch("theirs")
	data := w.dir("theirs", "a0") + "/model.bin"
	w.succeed("theirs", &task.Outputs{Literals: []*task.NamedLiteral{{Name: "o0", Value: file(data)}}})
	_, err = w.projects.CreateProject(t.Context(), &projectservice.CreateProjectRequest{Project: &projectservice.Project{Id: "other"}})
	require.NoError(t, err)
	handed := &common.RunIdentifier{Org: "o", Project: "other", Domain: domain, Name: "handed"}
	_, err = w.run.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: handed},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Id:   &core.Identifier{Project: "other", Domain: domain, Name: "t", Version: "1"},
			Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "i"}},
		}}},
		InputWrapper: &workflow.CreateRunRequest_Inputs{Inputs: &task.Inputs{Literals: []*task.NamedLiteral{{Name: "x", Value: file(data)}}}},
	})
	require.NoError(t, err)
	pointing := request("copy", "1", value(file(data)))
	pointing.ArtifactId.Name.Project = "other"
	pointing.Spec.Source = &artifact.ArtifactSource{Source: &artifact.ArtifactSource_TaskAction{TaskAction: &artifact.TaskActionSource{
		Action: &common.ActionIdentifier{Run: handed, Name: "a0"}, Attempt: 1,
	}}}
	_, err = w.client.CreateArtifact(t.Context(), pointing)
	require.NoError(t, err)
	w.create("model", "1", value(file(data)))
	swept := func(want int) {
		t.Helper()
		deleted, err := keeper.Sweep(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, deleted)
	}
	swept(0)
	w.remove("model", "1")
	swept(1)
}

// TestAppsProtectTheRunsThatTheyUse until they are deleted, or deployed without them.
func TestAppsProtectTheRunsThatTheyUse(t *testing.T) {
	w := newWorld(t)
	config := runs.DefaultConfig().Retention
	config.Enabled, config.MaxAge, config.Grace = true, time.Nanosecond, 0
	keeper, err := runs.NewRetention(config, runs.Deps{Pool: w.pool, Blobs: w.blobs, Logger: zerolog.Nop(), Retention: runs.Retention{InUse: []string{appstore.InUse("public")}}})
	require.NoError(t, err)
	for _, run := range []string{"first", "second", "unused"} {
		w.launch(run)
		data := w.dir(run, "a0") + "/model.bin"
		require.NoError(t, w.blobs.WriteAll(t.Context(), data, []byte("weights")))
		w.succeed(run, &task.Outputs{Literals: []*task.NamedLiteral{{Name: "o0", Value: file(data)}}})
		if run != "unused" {
			w.deploy(run+"-app", &app.Input{Name: "model", Value: &app.Input_StringValue{StringValue: data}})
		}
	}
	w.eventually("outputs are looked at", func() bool { return w.count(`SELECT count(*) FROM produced_outputs`) == 0 })
	sweep := func(deleted, left int) {
		t.Helper()
		count, err := keeper.Sweep(t.Context())
		require.NoError(t, err)
		require.Equal(t, deleted, count)
		require.Equal(t, left, w.count(`SELECT count(*) FROM actions WHERE parent_name IS NULL`))
	}
	sweep(1, 2)
	_, err = w.apps.Delete(t.Context(), &app.DeleteRequest{AppId: &app.Identifier{Org: "o", Project: project, Domain: domain, Name: "first-app"}})
	require.NoError(t, err)
	sweep(1, 1)
	changed, err := w.apps.Get(t.Context(), &app.GetRequest{Identifier: &app.GetRequest_AppId{AppId: &app.Identifier{Org: "o", Project: project, Domain: domain, Name: "second-app"}}})
	require.NoError(t, err)
	changed.App.Spec.Inputs = nil
	_, err = w.apps.Update(t.Context(), &app.UpdateRequest{App: changed.GetApp()})
	require.NoError(t, err)
	sweep(1, 0)
}

// TestArtifactsProtectTrackedRunsFromRetention: the directories of tracked runs are among the uploads, and the runs are in
// another Postgres schema than the artifacts.
func TestArtifactsProtectTrackedRunsFromRetention(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, pgdb.Migrate(t.Context(), w.pool, runstore.TrackedSchema()))
	tracked, err := pgdb.OpenNamespace(t.Context(), w.pool, runstore.TrackedNamespace, 1)
	require.NoError(t, err)
	t.Cleanup(tracked.Close)
	namespace, err := pgdb.Namespace(t.Context(), w.pool)
	require.NoError(t, err)
	config := runs.DefaultConfig().Retention
	config.MaxAge, config.Grace = time.Hour, 0
	keeper, err := runs.NewRetention(config, runs.Deps{
		Pool: w.pool, Tracked: tracked, Blobs: w.blobs, Logger: zerolog.Nop(),
		Retention: runs.Retention{Namespace: namespace, InUse: []string{artifactstore.InUse(namespace)}},
	})
	require.NoError(t, err)
	ended := time.Now().Add(-2 * time.Hour)
	var roots []schema.Root
	for i, name := range []string{"kept", "gone"} {
		base := blobpath.TrackedRun(w.blobs.Root(), project, domain, name)
		require.NoError(t, w.blobs.WriteAll(t.Context(), base+"a0/1/outputs.pb", []byte("weights")))
		root := schema.Root{RunOutputBase: base}
		root.ID, root.RunID = int64(i+1), int64(i+1)
		root.Project, root.Domain, root.RunName, root.Name = project, domain, name, "a0"
		root.CreatedAt, root.EndedAt, root.Phase = ended, &ended, 5
		roots = append(roots, root)
	}
	require.NoError(t, storetest.Insert(t.Context(), tracked, roots...))
	kept, gone := roots[0].RunOutputBase+"a0/1/outputs.pb", roots[1].RunOutputBase+"a0/1/outputs.pb"
	w.create("model", "1", value(file(kept)))

	deleted, err := keeper.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	_, err = w.blobs.Stat(t.Context(), kept)
	require.NoError(t, err)
	_, err = w.blobs.Stat(t.Context(), gone)
	require.ErrorIs(t, err, blobstore.ErrNotExist)
	w.remove("model", "1")
	deleted, err = keeper.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	require.Zero(t, w.count(`SELECT count(*) FROM tracked.actions`))
}

// TestInputsKeepTheirArtifacts: what the server stores is what the client sent, with the identity.
func TestInputsKeepTheirArtifacts(t *testing.T) {
	w := newWorld(t)
	model := w.create("model", "1")
	w.launch("r", &task.NamedLiteral{Name: "x", Value: model.GetSpec().GetValue()})
	storage, err := w.engine.GetActionStorage(t.Context(), &enginev1.GetActionStorageRequest{ActionId: actionID("r", "a0")})
	require.NoError(t, err)
	body, err := w.blobs.ReadAll(t.Context(), storage.GetInputUri()+"/inputs.pb", 1<<20)
	require.NoError(t, err)
	inputs := &task.Inputs{}
	require.NoError(t, proto.Unmarshal(body, inputs))
	require.Equal(t, "model", inputs.GetLiterals()[0].GetValue().GetArtifactId().GetKey().GetName())
	require.Equal(t, 1, w.count(`SELECT count(*) FROM artifact_uses WHERE name = 'model' AND version = '1'`))
}
