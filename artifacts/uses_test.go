package artifacts_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

var files = &core.LiteralType{Type: &core.LiteralType_Blob{Blob: &core.BlobType{}}}

// child records a child of the root of a run, whose task has one input of a type, after writing its inputs as a parent does.
func (w *world) child(run, action string, input *core.LiteralType, values ...*core.Literal) {
	w.t.Helper()
	inputs := &task.Inputs{}
	for i, value := range values {
		inputs.Literals = append(inputs.Literals, &task.NamedLiteral{Name: fmt.Sprint("x", i), Value: value})
	}
	body, err := proto.Marshal(inputs)
	require.NoError(w.t, err)
	storage, err := w.engine.GetActionStorage(w.t.Context(), &enginev1.GetActionStorageRequest{ActionId: actionID(run, "a0")})
	require.NoError(w.t, err)
	uri := storage.GetRunOutputBase() + action + "/inputs.pb"
	require.NoError(w.t, w.blobs.WriteAll(w.t.Context(), uri, body))
	w.record(run, action, uri, input)
}

func (w *world) record(run, action, inputURI string, input *core.LiteralType) {
	w.t.Helper()
	response, err := w.internal.RecordAction(w.t.Context(), &workflow.RecordActionRequest{
		ActionId: actionID(run, action), Parent: "a0", InputUri: inputURI,
		Spec: &workflow.RecordActionRequest_Task{Task: &workflow.TaskAction{Spec: &task.TaskSpec{
			ShortName: "task-" + action,
			TaskTemplate: &core.TaskTemplate{
				Id: &core.Identifier{Project: project, Domain: domain, Name: "child", Version: "1"}, Type: "python",
				Metadata: &core.TaskMetadata{ProducesArtifacts: true},
				Target:   &core.TaskTemplate_Container{Container: &core.Container{Image: "i"}},
				Interface: &core.TypedInterface{Inputs: &core.VariableMap{Variables: []*core.VariableEntry{
					{Key: "x0", Value: &core.Variable{Type: input}},
				}}},
			},
		}}},
	})
	require.NoError(w.t, err)
	require.Zero(w.t, response.GetStatus().GetCode(), response.GetStatus().GetMessage())
}

func (w *world) readAll() {
	w.t.Helper()
	w.eventually("all inputs are read", func() bool { return w.count(`SELECT count(*) FROM unread_inputs`) == 0 })
}

// users lists the uses of a version, as run: actions.
func (w *world) users(artifactName, version string) (found []string) {
	w.t.Helper()
	r := w.lineage(&insightv1.GetLineageRequest{ArtifactId: &artifact.ArtifactIdentifier{Name: name(artifactName), Version: version}, Depth: 1})
	for _, edge := range r.GetEdges() {
		if edge.GetKind() != insightv1.LineageEdge_KIND_USED || edge.GetFrom() != 0 {
			continue
		}
		text := r.GetNodes()[edge.GetTo()].GetRun().GetName() + ":"
		for _, action := range edge.GetActions() {
			text += " " + action.GetName()
		}
		found = append(found, text)
	}
	return found
}

// TestUsesByChildren are found by what the values point to, and by their identity.
func TestUsesByChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.blobs.Root() + "/uploads/" + project + "/" + domain + "/"
	plain, folder, outside := base+"model.bin", base+"folder", "s3://elsewhere/model.bin"
	w.create("plain", "1", value(file(plain)))
	w.create("folder", "1", value(file(folder)))
	w.create("outside", "1", value(file(outside)))
	named := w.create("named", "1")
	other := w.create("other", "1", value(file(plain)))
	w.launch("r")

	list := &core.LiteralType{Type: &core.LiteralType_CollectionType{CollectionType: files}}
	w.child("r", "part", files, file(folder+"/part-1"))
	w.child("r", "two", list, &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{Literals: []*core.Literal{
		file(outside), file(folder + "/"),
	}}}})
	// A value with an identity is that version, even if others have the same data.
	w.child("r", "identity", files, other.GetSpec().GetValue(), named.GetSpec().GetValue())
	w.child("r", "same", files, file(plain))
	w.child("r", "none", files, file(folder+"-2"), file(base+"model.bi"), file(""))
	w.readAll()

	require.Equal(t, []string{"r: part two"}, w.users("folder", "1"))
	require.Equal(t, []string{"r: two"}, w.users("outside", "1"))
	require.Equal(t, []string{"r: identity"}, w.users("named", "1"))
	require.Equal(t, []string{"r: same"}, w.users("plain", "1"))
	require.Equal(t, []string{"r: identity same"}, w.users("other", "1"))
	for _, edge := range w.lineage(&insightv1.GetLineageRequest{RunId: runID("r")}).GetEdges() {
		for _, action := range edge.GetActions() {
			require.Equal(t, "task-"+action.GetName(), action.GetTask())
		}
	}
}

// TestARunUsesWhatItMade: the use is known although the version is registered after the child was recorded, an action does
// not use what it made itself, and what the run made from it is on the way down.
func TestARunUsesWhatItMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.away.Store(true)
	w.launch("r")
	model := w.dir("r", "a0") + "/model.bin"
	w.child("r", "train", files, file(model))
	w.succeedAction("r", "train", &task.Outputs{
		Literals:          []*task.NamedLiteral{{Name: "o0", Value: file(model)}},
		ProducedArtifacts: []*task.ProducedArtifact{produced("o0", "model")},
	})
	w.child("r", "evaluate", files, file(model))
	require.Positive(t, w.count(`SELECT count(*) FROM unread_inputs`))
	w.away.Store(false)
	w.readAll()
	w.create("report", "1", by("r", "a0"))
	require.Equal(t, []string{"r: evaluate"}, w.users("model", "r-train-1"))
	graph := w.lineage(&insightv1.GetLineageRequest{ArtifactId: &artifact.ArtifactIdentifier{Name: name("model"), Version: "r-train-1"}})
	var names []string
	for _, node := range graph.GetNodes() {
		names = append(names, node.GetArtifact().GetName().GetName()+node.GetRun().GetName())
	}
	require.Equal(t, []string{"model", "r", "report"}, names)
}

// TestInputsThatCannotHoldArtifactsAreNotRead, and none is while there are no artifacts.
func TestInputsThatCannotHoldArtifactsAreNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.launch("r")
	nothing := w.dir("r", "a0") + "/nothing/inputs.pb"
	w.record("r", "missing", nothing, files)
	w.readAll()
	w.create("m", "1")
	w.record("r", "number", nothing, integer())
	require.Zero(t, w.count(`SELECT count(*) FROM unread_inputs`))
	w.record("r", "gone", nothing, files)
	require.NoError(t, w.blobs.WriteAll(t.Context(), w.dir("r", "a0")+"/damaged/inputs.pb", []byte("no inputs")))
	w.record("r", "damaged", w.dir("r", "a0")+"/damaged/inputs.pb", files)
	w.readAll()
	require.Zero(t, w.count(`SELECT count(*) FROM artifact_uses`))
}

// TestManyUsersOfAVersion keep their first ten, in however many steps they are found.
func TestManyUsersOfAVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := w.blobs.Root() + "/uploads/" + project + "/" + domain + "/data"
	w.create("data", "1", value(file(data)))
	w.launch("r")
	for i := range 25 {
		w.child("r", fmt.Sprintf("c%02d", i), files, file(data))
		if i%8 == 0 {
			w.readAll()
		}
	}
	w.readAll()
	require.Equal(t, []string{"r: c00 c01 c02 c03 c04 c05 c06 c07 c08 c09"}, w.users("data", "1"))
	require.Equal(t, 1, w.count(`SELECT count(*) FROM artifact_uses`))
}

// BenchmarkFindUses reads the inputs of a thousand actions that use one version, in the batches of the loop.
func BenchmarkFindUses(b *testing.B) {
	w := newWorld(b)
	data := w.blobs.Root() + "/uploads/" + project + "/" + domain + "/data"
	w.create("data", "1", value(file(data)))
	w.launch("r")
	body, err := proto.Marshal(&task.Inputs{Literals: []*task.NamedLiteral{{Name: "x", Value: file(data)}}})
	require.NoError(b, err)
	base := w.dir("r", "a0")
	var batches []*enginev1.FindUsesRequest
	for i := range 10 {
		batch := &enginev1.FindUsesRequest{}
		for j := range 100 {
			uri := fmt.Sprintf("%s/%d-%d/inputs.pb", base, i, j)
			require.NoError(b, w.blobs.WriteAll(b.Context(), uri, body))
			batch.Actions = append(batch.Actions, &enginev1.ActionInputs{ActionId: actionID("r", fmt.Sprintf("c%d-%d", i, j)), InputUri: uri})
		}
		batches = append(batches, batch)
	}
	for b.Loop() {
		for _, batch := range batches {
			found, err := w.registry.FindUses(b.Context(), batch)
			require.NoError(b, err)
			require.Len(b, found.GetActions()[99].GetArtifacts(), 1)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(1000*b.N), "µs/action")
}
