package dataproxy_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

func TestInputsGoToTheBaseOfTheProject(t *testing.T) {
	f := newFixture(t)
	inputs := &task.Inputs{Literals: []*task.NamedLiteral{literal("x", "1")}}
	place := func(base string) string {
		t.Helper()
		request := inputsRequest(inputs)
		request.BaseDir = base
		response, err := f.data.UploadInputs(t.Context(), request)
		require.NoError(t, err)
		uri := response.GetOffloadedInputData().GetUri()
		_, err = f.store.Stat(t.Context(), uri)
		require.NoError(t, err)
		return strings.TrimPrefix(uri, f.store.Root())
	}
	require.True(t, strings.HasPrefix(place(""), "/uploads/flytesnacks/development/"))
	f.state.base = &settings.StringSetting{State: settings.SettingState_SETTING_STATE_VALUE, StringValue: f.store.Root() + "/_team/"}
	require.True(t, strings.HasPrefix(place(""), "/_team/flytesnacks/development/offloaded-inputs/"))
	require.True(t, strings.HasPrefix(place(f.store.Root()+"/_mine"), "/_mine/"), "the run's own setting wins")
	f.state.base.State = settings.SettingState_SETTING_STATE_UNSET
	require.True(t, strings.HasPrefix(place(""), "/uploads/"))

	f.state.base = &settings.StringSetting{State: settings.SettingState_SETTING_STATE_VALUE, StringValue: "/elsewhere"}
	_, err := f.data.UploadInputs(t.Context(), inputsRequest(inputs))
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
}
