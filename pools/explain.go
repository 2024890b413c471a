package pools

import (
	"context"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pools/size"
)

// causes are the causes of package size, which knows no messages.
var causes = map[size.Cause]enginev1.WorkerWaitCause{
	size.Nothing: enginev1.WorkerWaitCause_WORKER_WAIT_CAUSE_UNSPECIFIED,
	size.Slots:   enginev1.WorkerWaitCause_WORKER_WAIT_CAUSE_SLOTS,
	size.Starts:  enginev1.WorkerWaitCause_WORKER_WAIT_CAUSE_STARTING,
	size.Problem: enginev1.WorkerWaitCause_WORKER_WAIT_CAUSE_PROBLEM,
	size.Backoff: enginev1.WorkerWaitCause_WORKER_WAIT_CAUSE_BACKOFF,
}

// ExplainWorkerWait implements enginev1connect.WorkerPoolServiceHandler.
func (h *handler) ExplainWorkerWait(ctx context.Context, r *enginev1.ExplainWorkerWaitRequest) (*enginev1.ExplainWorkerWaitResponse, error) {
	a, err := h.store.Standing(ctx, r.GetUid())
	if err != nil {
		return nil, err
	}
	if a.Worker != "" {
		prepares := sentence.New("worker %s prepares it", a.Worker)
		return &enginev1.ExplainWorkerWaitResponse{Message: prepares.String(), Sentences: sentence.Parts(prepares)}, nil
	}
	waiter := size.Waiter{Ahead: a.Ahead, NotBefore: orZero(a.NotBefore)}
	w := size.Explain(a.Sized.Pool, waiter, a.Trouble, a.Now)
	closed, err := h.closed(ctx)
	if err != nil {
		return nil, err
	}
	if why, is := closed[a.Sized.Cluster]; is && w.Cause == size.Starts {
		w = size.Says(size.Problem, sentence.New("no worker starts: cluster %s %s", a.Sized.Cluster, why.Words))
	}
	return &enginev1.ExplainWorkerWaitResponse{
		Cause: causes[w.Cause], Message: sentence.English(w.Says...), Sentences: sentence.Parts(w.Says...), Limit: int64(w.Limit), Used: int64(w.Used), Ahead: int64(a.Ahead),
	}, nil
}

func orZero(at *time.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return *at
}
