package runs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// given records a child with inputs in order.
func (c *writeFixture) given(run, parent, name string, inputs ...*task.NamedLiteral) {
	c.t.Helper()
	request := childTask(run, parent, name)
	request.InputUri = c.storage(run, parent).GetRunOutputBase() + name + "/inputs.pb"
	c.put(request.GetInputUri(), &task.Inputs{Literals: inputs})
	require.Zero(c.t, c.record(request))
}

// described are the descriptions of actions, in the order of their numbers, each as one text.
func (c *writeFixture) described(run string, names ...string) []string {
	c.t.Helper()
	numbers := c.numbers(run)
	request := &insightv1.DescribeActionsRequest{RunId: runID(run)}
	for _, name := range names {
		request.Numbers = append(request.Numbers, numbers[name])
	}
	response, err := c.insight.DescribeActions(c.t.Context(), request)
	require.NoError(c.t, err)
	out := []string{}
	for _, action := range response.GetActions() {
		words := []string{}
		for _, input := range action.GetInputs() {
			words = append(words, input.GetName()+" "+input.GetValue())
		}
		if action.GetTruncated() {
			words = append(words, "and more")
		}
		if action.GetMissing() {
			words = append(words, "missing")
		}
		out = append(out, strings.Join(words, ", "))
	}
	return out
}

func number(name string, value int64) *task.NamedLiteral {
	return &task.NamedLiteral{Name: name, Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{
		Value: &core.Scalar_Primitive{Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: value}}},
	}}}}
}

func TestDescribeActions(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	base := c.storage("r1", "a0").GetRunOutputBase()
	for shard := range 3 {
		c.given("r1", "a0", fmt.Sprintf("s%d", shard), &task.NamedLiteral{Name: "region", Value: text("emea")}, number("shard", int64(shard)))
	}
	require.Equal(t, []string{"region emea, shard 0", "region emea, shard 2"}, c.described("r1", "s2", "s0", "s2"))
	c.given("r1", "a0", "huge", number("shard", 7), &task.NamedLiteral{Name: "words", Value: text(strings.Repeat("x", 1<<20))})
	c.given("r1", "a0", "gone", number("shard", 8))
	c.given("r1", "a0", "odd", number("shard", 9))
	require.NoError(t, c.blobs.Delete(t.Context(), base+"gone/inputs.pb"))
	require.NoError(t, c.blobs.WriteAll(t.Context(), base+"odd/inputs.pb", []byte("no message")))
	c.child("r1", "a0", "without")
	require.Equal(t, []string{"shard 7, and more", "missing", "and more", "missing"}, c.described("r1", "huge", "gone", "odd", "without"))

	// Inputs do not change, so what was read once is not read again; what was missing is.
	require.NoError(t, os.RemoveAll(base))
	require.Equal(t, []string{"region emea, shard 0", "missing", "missing"}, c.described("r1", "s0", "s1", "gone"))
	c.put(base+"gone/inputs.pb", &task.Inputs{Literals: []*task.NamedLiteral{number("shard", 8)}})
	require.Equal(t, []string{"shard 8"}, c.described("r1", "gone"))

	// Numbers of other runs mean nothing here.
	c.create(namedRun("r2"))
	require.NotEmpty(t, c.numbers("r2"))
	ask := func(request *insightv1.DescribeActionsRequest) error {
		_, err := c.insight.DescribeActions(t.Context(), request)
		return err
	}
	response, err := c.insight.DescribeActions(t.Context(), &insightv1.DescribeActionsRequest{RunId: runID("r1"), Numbers: []uint32{4_000_000_000}})
	require.NoError(t, err)
	require.Empty(t, response.GetActions())
	refused(t, ask(&insightv1.DescribeActionsRequest{RunId: runID("none"), Numbers: []uint32{0}}), connect.CodeNotFound, "none")
	refused(t, ask(&insightv1.DescribeActionsRequest{RunId: runID("r1")}), connect.CodeInvalidArgument, "numbers")
	refused(t, ask(&insightv1.DescribeActionsRequest{RunId: runID("r1"), Numbers: make([]uint32, 501)}), connect.CodeInvalidArgument, "numbers")
}
