package stack

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

// TestASecondEnd: a second snapshot repeats ends, which changes nothing. Another end is a fault of the server.
func TestASecondEnd(t *testing.T) {
	p := &FakeParent{ends: map[string]time.Time{}, phases: map[string]common.ActionPhase{}, change: make(chan struct{})}
	p.note("c0", common.ActionPhase_ACTION_PHASE_SUCCEEDED, "")
	first := p.last
	p.note("c0", common.ActionPhase_ACTION_PHASE_SUCCEEDED, "")
	last, err := p.AwaitAll(context.Background(), 1)
	require.NoError(t, err)
	require.Equal(t, first, last)
	p.note("c0", common.ActionPhase_ACTION_PHASE_FAILED, "")
	_, err = p.AwaitAll(context.Background(), 1)
	require.ErrorContains(t, err, "c0: ended as ACTION_PHASE_SUCCEEDED, then as ACTION_PHASE_FAILED")
}
