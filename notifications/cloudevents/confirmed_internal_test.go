package cloudevents

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConfirmed: what a sink has is removed although something else failed, but nothing of a run behind what it lacks.
func TestConfirmed(t *testing.T) {
	ranges := []Range{{ID: 1, RunID: 1, First: 1, Last: 2}, {ID: 2, RunID: 2, First: 1, Last: 1}, {ID: 3, RunID: 1, First: 3, Last: 3}, {ID: 4, RunID: 3, First: 1, Last: 2}}
	event := func(run, seq int64, sent bool) *message { return &message{runID: run, seq: seq, sent: sent} }

	all := confirmed(ranges, []*message{event(1, 1, true), event(1, 2, true), event(2, 1, true), event(1, 3, true), event(3, 1, true), event(3, 2, true)})
	require.Equal(t, outcome{ids: []int64{1, 2, 3, 4}, sent: 6}, all)

	some := confirmed(ranges, []*message{event(1, 1, true), event(1, 2, false), event(2, 1, true), event(1, 3, true), event(3, 1, true), event(3, 2, true)})
	require.Equal(t, outcome{ids: []int64{2, 4}, sent: 3}, some)

	deleted := confirmed(ranges, []*message{event(1, 1, true), event(1, 2, true), event(1, 3, true), event(3, 2, false)})
	require.Equal(t, outcome{ids: []int64{1, 2, 3}, sent: 3, lost: 1}, deleted)

	require.Equal(t, outcome{ids: []int64{1, 2, 3, 4}, lost: 6}, confirmed(ranges, nil))
}
