package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

type waitForRunInput struct {
	runName
	Seconds int `json:"seconds,omitempty" jsonschema:"how long to wait at most, up to 120; 60 by default"`
}

type waitForRunOutput struct {
	Phase string `json:"phase"`
	// Ended says whether the phase is the last.
	Ended bool         `json:"ended"`
	Error *errorOutput `json:"error,omitempty"`
}

var waitForRunTool = reads("wait_for_run", "Waits until a run has ended or waits for a person, or until the time is up, and says its phase then.", waitForRun)

func waitForRun(ctx context.Context, s *session, in waitForRunInput) (out waitForRunOutput, err error) {
	waiting, cancel := context.WithTimeout(ctx, time.Duration(bounded(in.Seconds, 60, 120))*time.Second)
	defer cancel()
	stream, err := s.runs.WatchRunDetails(waiting, &workflow.WatchRunDetailsRequest{RunId: in.id()})
	if err != nil {
		return out, err
	}
	defer func() { _ = stream.Close() }() // it has been read as far as it is of interest
	for stream.Receive() {
		root := stream.Msg().GetDetails().GetAction()
		phase := root.GetStatus().GetPhase()
		out = waitForRunOutput{Phase: phaseName(phase), Ended: terminal(phase), Error: errorOf(root.GetErrorInfo())}
		if out.Ended || phase == common.ActionPhase_ACTION_PHASE_PAUSED {
			return out, nil
		}
	}
	if errors.Is(waiting.Err(), context.DeadlineExceeded) && ctx.Err() == nil && out.Phase != "" {
		return out, nil // the time is up
	}
	return out, stream.Err()
}
