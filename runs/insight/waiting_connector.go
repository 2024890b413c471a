package insight

import (
	"context"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

// connectorWait explains an admitted action of a connector by the state of its job.
func (s *Waits) connectorWait(ctx context.Context, w *insightv1.Wait, a *lists.Standing) error {
	if s.Connectors == nil || w.GetCause() == insightv1.WaitCause_WAIT_CAUSE_BACKOFF {
		return nil
	}
	answer, err := s.Connectors.ExplainConnectorWait(ctx, &enginev1.ExplainConnectorWaitRequest{Uid: a.ID})
	switch {
	case connect.CodeOf(err) == connect.CodeNotFound:
		w.Cause = insightv1.WaitCause_WAIT_CAUSE_CONNECTOR
		sayInstead(w, sentence.New("its connector is about to receive it"))
		return nil
	case err != nil:
		return err
	}
	w.Cause, w.Limit, w.Used = insightv1.WaitCause_WAIT_CAUSE_CONNECTOR, answer.GetLimit(), answer.GetUsed()
	w.Message, w.Sentences = answer.GetMessage(), answer.GetSentences()
	return nil
}
