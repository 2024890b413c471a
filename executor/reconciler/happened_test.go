package reconciler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/executor/happenings"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// TestTheEndOfAnObjectIsToldOnce: training operators write the same words into an Event and into the object.
func TestTheEndOfAnObjectIsToldOnce(t *testing.T) {
	const words = "PyTorchJob j is failed because 1 Worker replica(s) failed."
	for name, c := range map[string]struct {
		phase    common.ActionPhase
		recorded bool
		want     []string
	}{
		"the Event came with an earlier report": {common.ActionPhase_ACTION_PHASE_FAILED, true, nil},
		"the Event comes with this report":      {common.ActionPhase_ACTION_PHASE_FAILED, false, []string{"executor"}},
		"the attempt still waits":               {common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, true, []string{"executor"}},
	} {
		t.Run(name, func(t *testing.T) {
			known := &entry{}
			known.log.Add(1, happenings.Happening{Reason: "PyTorchJobFailed", Message: words, Source: "pytorchjob-controller"})
			if c.recorded {
				known.log.Told(1, 1)
			}
			event := &workflow.ActionEvent{Attempt: 1, Phase: c.phase, ClusterEvents: []*workflow.ClusterEvent{
				{Reason: "PyTorchJobFailed", Message: words, SourceComponent: "executor"},
			}}
			(&Reconciler{}).addHappenings(known, &plan{}, []*enginev1.Transition{{Event: event}})
			var sources []string
			for _, one := range event.GetClusterEvents() {
				sources = append(sources, one.GetSourceComponent())
			}
			require.Equal(t, c.want, sources)
		})
	}
}
