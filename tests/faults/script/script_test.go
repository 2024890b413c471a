package script_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

func encode(t *testing.T, n script.Node) []byte {
	t.Helper()
	inputs, err := n.Encode()
	require.NoError(t, err)
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(inputs)
	require.NoError(t, err)
	return body
}

func TestAScriptTravelsInInputs(t *testing.T) {
	node := script.Node{Name: "a0", Kind: script.Task, Retries: 2, Children: []script.Node{{Name: "n1", Kind: script.Condition, Answer: script.AnswerAbort}}}
	read, err := script.Decode(encode(t, node))
	require.NoError(t, err)
	require.Equal(t, node, read)
	require.Len(t, read.All(), 2)
	_, err = script.Decode(nil)
	require.ErrorContains(t, err, "no script")
}

func TestTasksThatShareOutputsShareInputs(t *testing.T) {
	one, other := script.Node{Name: "n1", Kind: script.Task, Cache: "v"}, script.Node{Name: "n2", Kind: script.Task, Cache: "v"}
	require.Equal(t, encode(t, one), encode(t, other))
	require.True(t, one.Spec("program", "ledger").GetTaskTemplate().GetMetadata().GetDiscoverable())
	require.True(t, proto.Equal(one.Spec("program", "ledger"), other.Spec("program", "ledger")))
	one.Cache = ""
	require.NotEqual(t, encode(t, one), encode(t, other))
}
