package manager_test

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/emptypb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/contracttest"
)

// heard is what open streams have sent.
type heard struct {
	mu    sync.Mutex
	bytes map[string][]byte // GUARDED_BY(mu): by procedure and field
}

func (h *heard) add(stream string, answer []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bytes[stream] = append(h.bytes[stream], answer...)
}

// has are the streams that have sent a text.
func (h *heard) has(text string) (streams []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for stream, sent := range h.bytes {
		if bytes.Contains(sent, []byte(text)) {
			streams = append(streams, stream)
		}
	}
	slices.Sort(streams)
	return streams
}

// listen opens a stream and keeps what it sends until the test ends or the server ends it.
func (h *heard) listen(t *testing.T, running *sync.WaitGroup, client connect.HTTPClient, url, name string, method protoreflect.MethodDescriptor, request *dynamicpb.Message) {
	t.Helper()
	c := connect.NewClient[dynamicpb.Message, emptypb.Empty](client, url+contracttest.ProcedureOf(method), connect.WithGRPC())
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	running.Go(func() {
		stream, err := c.CallServerStream(ctx, connect.NewRequest(request))
		if err != nil {
			return
		}
		defer stream.Close() //nolint:errcheck // it is cut off
		for stream.Receive() {
			h.add(name, stream.Msg().ProtoReflect().GetUnknown())
		}
	})
}

// TestOpenWatchesTellNothingOfAnotherTenant: every stream for people that ada can open stays open while things of all kinds change in the
// project of another tenant, and then in ada's. It has what changed in ada's project, and never a name of the other.
func TestOpenWatchesTellNothingOfAnotherTenant(t *testing.T) {
	url := startWithRoles(t)
	for _, project := range []string{victim, "mine"} {
		makeThings(t, url, thingsOf(project, ""))
	}
	ada, root := newH2(t, "ada"), newH2(t, "root")
	mine, all := &heard{bytes: map[string][]byte{}}, &heard{bytes: map[string][]byte{}}
	running := &sync.WaitGroup{}
	t.Cleanup(running.Wait) // after the streams are cut off
	opened := 0
	for _, method := range contracttest.Methods() {
		procedure := contracttest.ProcedureOf(method)
		rule, _ := authz.RuleOf(procedure)
		if rule.By.Open() || !rule.By.Has(authz.User) || method.IsStreamingClient() || !method.IsStreamingServer() {
			continue
		}
		requests := contracttest.Naming(method, thingsOf("mine", ""))
		if procedure == workflowconnect.RunServiceWatchRunsProcedure { // of every project
			text, err := proto.Marshal(&workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_Org{Org: "o"}})
			require.NoError(t, err)
			requests["everything"] = dynamicpb.NewMessage(method.Input())
			require.NoError(t, proto.Unmarshal(text, requests["everything"]))
		}
		for at, request := range requests {
			mine.listen(t, running, ada, url, procedure+" "+at, method, request)
			all.listen(t, running, root, url, procedure+" "+at, method, request)
			opened++
		}
	}
	require.Greater(t, opened, 10)
	require.Eventually(t, func() bool { return len(mine.has("mine")) > 3 }, time.Minute, 50*time.Millisecond, "the streams are open")

	for _, project := range []string{victim, "mine"} { // what is changed last is what they wait for
		change(t, url, project)
	}
	require.Eventually(t, func() bool { return len(mine.has("changed-mine")) > 1 }, time.Minute, 50*time.Millisecond, "%v", mine.has("mine"))
	require.Eventually(t, func() bool { return len(all.has("changed-"+victim)) > 0 }, time.Minute, 50*time.Millisecond, "an operator sees the changes")
	t.Logf("%d streams; with changes of their own: %v; an operator has the other's in %v", opened, mine.has("changed-mine"), all.has("changed-"+victim))
	require.Empty(t, mine.has(victim))
}

// change makes and changes things of each kind in a project, with names that begin with changed.
func change(t *testing.T, url, project string) {
	t.Helper()
	name := "changed-" + project
	runs := workflowconnect.NewRunServiceClient(as("root"), url)
	require.NoError(t, createRun(t, runs, runOf(project, name)))
	reason := "aborted " + name
	_, err := runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runOf(project, "first"), Reason: &reason})
	require.NoError(t, err)
	makeThings(t, url, thingsOf(project, "-"+name))
	_, err = appconnect.NewAppServiceClient(as("root"), url).Create(t.Context(), &app.CreateRequest{App: &app.App{
		Metadata: &app.Meta{Id: &app.Identifier{Org: "o", Project: project, Domain: "development", Name: name}},
		Spec: &app.Spec{
			AppPayload: &app.Spec_Container{Container: &core.Container{Image: "web:1"}}, DesiredState: app.Spec_DESIRED_STATE_STOPPED,
		},
	}})
	require.NoError(t, err)
}

// TestAnEdgeToAnotherTenantTellsNothing: an artifact of one's own may be said to be made from any other, as lineage is a claim; but the answer,
// the artifact and its lineage say nothing of whether that one exists, and its owner learns nothing of the claim.
func TestAnEdgeToAnotherTenantTellsNothing(t *testing.T) {
	url := startWithRoles(t)
	fillVictim(t, url)
	made := func(name, parent string) string {
		artifacts := artifactconnect.NewArtifactServiceClient(as("ada"), url)
		id := &artifact.ArtifactIdentifier{Name: &artifact.ArtifactName{Project: "mine", Domain: "development", Name: name}, Version: "1"}
		answer, err := artifacts.CreateArtifact(t.Context(), &artifact.CreateArtifactRequest{ArtifactId: id, Spec: &artifact.ArtifactSpec{
			Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}},
			Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
				Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: 1}},
			}}}},
			ParentArtifacts: []*core.ArtifactVersionId{{
				Key: &core.ArtifactKey{Project: victim, Domain: "development", Name: parent}, Version: "1",
			}},
		}})
		if err != nil {
			return err.Error()
		}
		return answer.String() + lineage(t, url, "ada", id)
	}
	there, missing := made("from-a", "model"), made("from-b", "nothing")
	require.Equal(t, normal(there, "from-a", "model"), normal(missing, "from-b", "nothing"))
	require.NotContains(t, lineage(t, url, "bob", &artifact.ArtifactIdentifier{
		Name: &artifact.ArtifactName{Project: victim, Domain: "development", Name: "model"}, Version: "1",
	}), "from-a", "the owner sees no name in a project that it may not see")
}

// lineage is that of an artifact as a person sees it.
func lineage(t *testing.T, url, person string, of *artifact.ArtifactIdentifier) string {
	t.Helper()
	graph, err := insightv1connect.NewArtifactInsightServiceClient(as(person), url).GetLineage(t.Context(), &insightv1.GetLineageRequest{ArtifactId: of})
	require.NoError(t, err)
	return graph.String()
}

var (
	times  = regexp.MustCompile(`(seconds|nanos):\s*\d+`)
	spaces = regexp.MustCompile(`\s+`)
)

// normal is an answer without times, and without the names in which two answers differ.
func normal(answer string, names ...string) string {
	for _, name := range names {
		answer = strings.ReplaceAll(answer, `"`+name+`"`, "name")
	}
	return spaces.ReplaceAllString(times.ReplaceAllString(answer, ""), " ")
}
