package podspec_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	"github.com/flyte-binary/flyte-binary/attempts/attempttest"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

const base = "/base"

// second is the second attempt of an assigned action, as the executor describes it.
func second(assigned *enginev1.Assignment) *plugin.Attempt {
	return &plugin.Attempt{
		Task: taskactions.FromAssignment(assigned, "ns"), Template: assigned.GetTask().GetSpec().GetTaskTemplate(), Number: 2,
		Dir: base + "/r1/a0/2", PreviousDir: base + "/r1/a0/1", MayLaunch: true,
	}
}

// expanded is a text as the process gets it: the kubelet turns $$ into $.
func expanded(text string) string { return strings.ReplaceAll(text, "$$", "$") }

// TestEnvironmentIsThatOfEveryRunner: pools has the same test for workers.
func TestEnvironmentIsThatOfEveryRunner(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		b := newBench(t, func(c *podspec.Config) { c.LegacyEnv = legacy })
		got := map[string]string{}
		for _, variable := range b.build(t, second(attempttest.Assigned(base, "c"))).Spec.Containers[0].Env {
			got[variable.Name] = expanded(variable.Value)
		}
		for _, more := range []string{"_U_ORG_NAME", "_F_MAX_QPS", "_F_P_CNC", "INTERNAL_APP_ENDPOINT_PATTERN", "_U_EP_OVERRIDE", "_U_INSECURE", "_F_PN"} {
			delete(got, more) // of the installation and the pod: workers have them from their own pod
		}
		require.Equal(t, attempttest.Environment(base, legacy), got)
	}
}

// TestArgumentsAreThoseOfEveryRunner: pools has the same test for workers.
func TestArgumentsAreThoseOfEveryRunner(t *testing.T) {
	for _, tc := range attempttest.Arguments(base) {
		t.Run(tc.Name, func(t *testing.T) {
			b, assigned := newBench(t), attempttest.Assigned(base, tc.Text)
			if tc.NoURI {
				assigned.InputUri = ""
			}
			if tc.Inputs != nil {
				b.blobs.Objects[base+"/inputs/inputs.pb"] = tc.Inputs
			}
			made, err := b.builder.Build(t.Context(), second(assigned))
			if tc.Refused != "" {
				lost := failure.Of(err)
				require.NotNil(t, lost, "%v", err)
				require.Equal(t, failure.BadTaskSpecification, lost.Reason)
				require.Contains(t, lost.Message, tc.Refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.Want, expanded(made.Spec.Containers[0].Command[0]))
		})
	}
}
