package notifications_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

// TestNoRulesCostNothing: the end of a run without a rule writes nothing for notifications; that of one with a rule does.
func TestNoRulesCostNothing(t *testing.T) {
	f := newFixture(t, nil)
	require.NoError(t, f.service.Stop(context.WithoutCancel(t.Context()))) // it would empty the outbox
	f.create("quiet", nil)
	f.end("quiet", common.ActionPhase_ACTION_PHASE_FAILED, "boom")
	require.Zero(t, f.outboxSize())
	f.create("loud", rules(webhook("http://127.0.0.1:1", body, failed)))
	f.end("loud", common.ActionPhase_ACTION_PHASE_FAILED, "boom")
	require.Equal(t, 1, f.outboxSize())
}
