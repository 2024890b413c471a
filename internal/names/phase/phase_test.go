package phase_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
)

func TestNamesAreThoseOfTheContractWithoutItsPrefix(t *testing.T) {
	require.Equal(t, "TIMED_OUT", phase.Name(common.ActionPhase_ACTION_PHASE_TIMED_OUT))
	require.Equal(t, "99", phase.Name(99))
	for number := range common.ActionPhase_name {
		p := common.ActionPhase(number)
		for _, name := range []string{phase.Name(p), p.String()} {
			named, known := phase.Named(name)
			require.True(t, known, name)
			require.Equal(t, p, named)
		}
	}
	_, known := phase.Named("running")
	require.False(t, known)
}

func TestFivePhasesAreAnEnd(t *testing.T) {
	var ends []string
	for number := range int32(100) {
		if p := common.ActionPhase(number); phase.Terminal(p) {
			ends = append(ends, phase.Name(p))
		}
	}
	require.ElementsMatch(t, []string{"SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT", "RECOVERED"}, ends)
}
