package actions_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// TestStatesOfActions: the last text that was put is returned, for actions that exist; it changes nothing else.
func TestStatesOfActions(t *testing.T) {
	s := newSystem(t)
	root, unknown := s.run.Root().Proto(), &common.ActionIdentifier{Run: s.run.Proto(), Name: "unknown"}
	get := func(id *common.ActionIdentifier) (*workflow.GetResponse, error) {
		return s.state.Get(t.Context(), &workflow.GetRequest{ActionId: id})
	}
	put := func(id *common.ActionIdentifier, state string) error {
		_, err := s.state.Put(t.Context(), &workflow.PutRequest{ActionId: id, State: state})
		return err
	}
	_, err := get(root)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "no state yet")
	for _, state := range []string{`{"phase":"RUNNING"}`, strings.Repeat("x", 256<<10)} {
		require.NoError(t, put(root, state))
		stored, err := get(root)
		require.NoError(t, err)
		require.Equal(t, state, stored.GetState())
		require.True(t, proto.Equal(root, stored.GetActionId()))
		require.Zero(t, stored.GetStatus().GetCode())
	}
	_, err = get(unknown)
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(put(unknown, "{}")))
	err = put(root, strings.Repeat("x", 256<<10+1))
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
	require.ErrorContains(t, err, "state: must have at most 262144 bytes, got 262145")
}
