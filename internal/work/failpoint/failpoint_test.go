package failpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// Programs that are built without the tag have no failpoints.
func TestNothingIsArmedWithoutTheTag(t *testing.T) {
	failpoint.Here("anywhere")
	require.NoError(t, failpoint.Hang(t.Context()))
	require.Equal(t, clock.System{}, failpoint.Clock(clock.System{}))
}
