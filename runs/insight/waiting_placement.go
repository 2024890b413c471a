package insight

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

// Places decides among clusters; placement.Book does.
type Places interface {
	Explain(r *placement.Request) placement.Choice
}

// Asks reads what actions ask of clusters; asks.Reader does.
type Asks interface {
	Of(ctx context.Context, ids []int64) (map[int64]*placement.Request, error)
}

// placementWait explains why no cluster gets an action, as it would be decided now.
func (s *Waits) placementWait(ctx context.Context, w *insightv1.Wait, a *lists.Standing) error {
	w.Cause = insightv1.WaitCause_WAIT_CAUSE_PLACEMENT
	asked, err := s.Asks.Of(ctx, []int64{a.ID})
	if err != nil {
		return err
	}
	request := asked[a.ID]
	if request == nil {
		return nil // it was deleted meanwhile
	}
	choice := s.Places.Explain(request)
	if choice.Cluster != "" {
		say(w, sentence.New("cluster %s has room for it now, and it is about to be admitted", choice.Cluster))
		return nil
	}
	w.Resource = choice.Resource
	if choice.Resource != "" {
		say(w, sentence.New("no cluster has enough free %s", choice.Resource))
	}
	for _, clause := range choice.Clauses() {
		say(w, sentence.Free(clause))
	}
	return nil
}
