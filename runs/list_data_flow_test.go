package runs_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
)

// flows returns the edges between the children of an action, and whether some were left out.
func (c *writeFixture) flows(run, parent string) ([]string, bool) {
	c.t.Helper()
	response, err := c.insight.ListDataFlow(c.t.Context(), &insightv1.ListDataFlowRequest{ActionId: actionID(run, parent)})
	require.NoError(c.t, err)
	out := []string{}
	for _, edge := range response.GetEdges() {
		out = append(out, edge.GetFrom()+">"+edge.GetTo()+"."+edge.GetVariable())
	}
	return out, response.GetTruncated()
}

// step records a child that takes some literals, by name, and makes one.
func (c *writeFixture) step(run, parent, name string, made *core.Literal, taken map[string]*core.Literal) {
	c.t.Helper()
	base := c.storage(run, parent).GetRunOutputBase()
	request := childTask(run, parent, name)
	request.InputUri = base + name + "/inputs.pb"
	inputs := &task.Inputs{}
	for variable, literal := range taken {
		inputs.Literals = append(inputs.Literals, &task.NamedLiteral{Name: variable, Value: literal})
	}
	c.put(request.GetInputUri(), inputs)
	require.Zero(c.t, c.record(request))
	if made != nil {
		c.put(blobpath.AttemptDir(base, name, 1)+"/outputs.pb", &task.Outputs{Literals: []*task.NamedLiteral{{Name: "o0", Value: made}}})
	}
	c.report(transition(run, name, 1, running), transition(run, name, 1, succeeded))
}

func (c *writeFixture) put(uri string, message proto.Message) {
	c.t.Helper()
	body, err := proto.Marshal(message)
	require.NoError(c.t, err)
	require.NoError(c.t, c.blobs.WriteAll(c.t.Context(), uri, body))
}

func fileAt(uri string) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: uri}}}}}
}

func TestListDataFlow(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	page := strings.Repeat("text of a page ", 5)
	c.step("r1", "a0", "load", fileAt("/data/raw"), nil)
	c.step("r1", "a0", "fetch", text(page), nil)
	c.step("r1", "a0", "clean", fileAt("/data/clean"), map[string]*core.Literal{"raw": fileAt("/data/raw")})
	c.step("r1", "a0", "train", nil, map[string]*core.Literal{"rows": fileAt("/data/clean"), "words": text(page)})
	c.child("r1", "a0", "waits")
	_, err := c.pool.Exec(t.Context(), `UPDATE actions SET input_uri = '/inputs/waits/inputs.pb' WHERE name = 'waits'`) // as older rows may
	require.NoError(t, err)
	c.step("r1", "waits", "inner", nil, map[string]*core.Literal{"raw": fileAt("/data/raw")})
	edges, truncated := c.flows("r1", "a0")
	require.ElementsMatch(t, []string{"load>clean.raw", "clean>train.rows", "fetch>train.words"}, edges)
	require.True(t, truncated, "inputs that lie elsewhere were not read")
	edges, truncated = c.flows("r1", "waits")
	require.Empty(t, edges)
	require.False(t, truncated)

	// Objects that are missing, malformed or too large are skipped.
	base := c.storage("r1", "a0").GetRunOutputBase()
	require.NoError(t, c.blobs.Delete(t.Context(), base+"clean/inputs.pb"))
	require.NoError(t, c.blobs.WriteAll(t.Context(), blobpath.AttemptDir(base, "clean", 1)+"/outputs.pb", []byte("no message")))
	c.step("r1", "a0", "huge", text(strings.Repeat("x", 2<<20)), nil)
	edges, truncated = c.flows("r1", "a0")
	require.Equal(t, []string{"fetch>train.words"}, edges)
	require.True(t, truncated)

	ask := func(request *insightv1.ListDataFlowRequest) error {
		_, err := c.insight.ListDataFlow(t.Context(), request)
		return err
	}
	refused(t, ask(&insightv1.ListDataFlowRequest{ActionId: actionID("r1", "none")}), connect.CodeNotFound, "none")
	refused(t, ask(&insightv1.ListDataFlowRequest{}), connect.CodeInvalidArgument, "action_id")
}
