package pools

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/attempts/attempttest"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
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
