package pools

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/attempttest"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// assigner is a handler that gives work to workers.
func assigner(t *testing.T) (h *handler, objects *blobstore.Store) {
	t.Helper()
	config := blobstore.DefaultConfig()
	config.URL, config.PublicURL, config.Sync = t.TempDir(), "http://localhost", false
	objects, err := blobstore.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, objects.Close()) })
	return &handler{deps: Deps{Store: objects}}, objects
}

// second is the row of the second attempt of an assigned action.
func second(assigned *enginev1.Assignment) *store.Action {
	return &store.Action{UID: assigned.GetRef().GetUid(), Action: ident.ActionOf(assigned.GetRef().GetId()), Attempt: 2}
}

// TestEnvironmentIsThatOfEveryRunner: pods/podspec has the same test for pods.
func TestEnvironmentIsThatOfEveryRunner(t *testing.T) {
	h, objects := assigner(t)
	for _, legacy := range []bool{false, true} {
		h.deps.LegacyEnv = legacy
		assigned := attempttest.Assigned(objects.Root(), "c")
		message, err := h.message(t.Context(), second(assigned), assigned)
		require.NoError(t, err)
		require.Equal(t, attempttest.Environment(objects.Root(), legacy), message.GetEnv())
	}
}

// issues is TaskTokenService.
type issues struct {
	token string
	asked *enginev1.AttemptRef
}

func (i *issues) IssueTaskToken(_ context.Context, r *enginev1.IssueTaskTokenRequest) (*enginev1.IssueTaskTokenResponse, error) {
	i.asked = r.GetAttempt()
	return &enginev1.IssueTaskTokenResponse{Token: i.token}, nil
}

// TestAnAssignmentBringsTheTokenOfItsAttempt: not that of the attempt before, nor one that the run has made up.
func TestAnAssignmentBringsTheTokenOfItsAttempt(t *testing.T) {
	h, objects := assigner(t)
	assigned := attempttest.Assigned(objects.Root(), "c")
	assigned.RunSpec.Envs.Values = append(assigned.RunSpec.Envs.Values, &core.KeyValuePair{Key: attempts.TokenVariable, Value: "made up"})
	from := &issues{}
	for _, token := range []string{"", "fbt_x"} {
		from.token, h.deps.Tokens = token, from
		message, err := h.message(t.Context(), second(assigned), assigned)
		require.NoError(t, err)
		require.Equal(t, token, message.GetEnv()[attempts.TokenVariable])
		require.True(t, proto.Equal(assigned.GetRef(), from.asked.GetAction()))
		require.EqualValues(t, 2, from.asked.GetAttempt())
	}
}

// TestArgumentsAreThoseOfEveryRunner: pods/podspec has the same test for pods.
func TestArgumentsAreThoseOfEveryRunner(t *testing.T) {
	for i, named := range attempttest.Arguments("") {
		t.Run(named.Name, func(t *testing.T) {
			h, objects := assigner(t)
			tc := attempttest.Arguments(objects.Root())[i]
			assigned := attempttest.Assigned(objects.Root(), tc.Text)
			if tc.NoURI {
				assigned.InputUri = ""
			}
			if tc.Inputs != nil {
				require.NoError(t, objects.WriteAll(t.Context(), objects.Root()+"/inputs/inputs.pb", tc.Inputs))
			}
			message, err := h.message(t.Context(), second(assigned), assigned)
			if tc.Refused != "" {
				lost := failure.Of(err)
				require.NotNil(t, lost, "%v", err)
				require.Equal(t, failure.BadTaskSpecification, lost.Reason)
				require.Contains(t, lost.Message, tc.Refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{tc.Want}, message.GetArgs())
		})
	}
}
