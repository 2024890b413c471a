package connectors

import (
	"context"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/text/redact"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// TailJob implements enginev1connect.ConnectorRegistryServiceHandler. Every replica can ask the connector.
func (h *handler) TailJob(ctx context.Context, r *enginev1.TailJobRequest, out *connect.ServerStream[enginev1.TailJobResponse]) error {
	id := ident.ActionOf(r.GetActionId())
	var log *joblog
	for {
		job, err := h.store.JobOf(ctx, id, r.GetAttempt())
		if err != nil {
			return err
		}
		if job == nil || job.HasEnded() {
			// The end of a job does not wait for its log: until that is stored, the connector has it.
			kept, err := h.store.LogOf(ctx, id, r.GetAttempt())
			if err != nil {
				return err
			}
			if job = nil; kept != nil {
				job = &kept.Job
			}
		}
		if job == nil {
			return rpc.NotFound("no connector has attempt %d of action %s now", r.GetAttempt(), id)
		}
		if log == nil {
			if log, err = h.open(ctx, job); err != nil {
				return err
			}
		}
		if log != nil {
			if err := log.more(ctx, func(lines []*dataplane.LogLine) error {
				return out.Send(&enginev1.TailJobResponse{Lines: lines})
			}); err != nil {
				return rpc.Unavailable(err, "the connector %s did not send the log of the job: %s", job.Connector, log.hidden.Text(redact.Tokens(said(err))))
			}
		}
		if err := clock.Sleep(ctx, h.registry.deps.Clock, tailPause); err != nil {
			return err
		}
	}
}

// open begins to read the log of a job; nil if the job has not started.
func (h *handler) open(ctx context.Context, job *store.Job) (*joblog, error) {
	if job.Stage < store.Created {
		return nil, nil //nolint:nilnil // documented
	}
	w, err := h.workerOf(job)
	if err != nil {
		return nil, err
	}
	return w.log(ctx, job)
}
