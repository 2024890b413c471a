package connectors

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/connectors/store"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// GetJob implements insightv1connect.ConnectorInsightServiceHandler.
func (h *handler) GetJob(ctx context.Context, r *insightv1.GetJobRequest) (*insightv1.GetJobResponse, error) {
	job, err := h.jobOf(ctx, r.GetActionId(), r.GetAttempt())
	if err != nil {
		return nil, err
	}
	shown := &insightv1.GetJobResponse{
		Connector: job.Connector, Job: jobID(job.Meta), Started: job.Stage == store.Created, Deleting: job.Stop != store.NoStop,
		FailedCalls: uint32(max(job.Failures, -job.Failures)), Problem: job.Problem, NextLookAt: timestamppb.New(job.DueAt), //nolint:gosec // they are few
	}
	if job.BegunAt != nil {
		shown.RequestedAt = timestamppb.New(*job.BegunAt)
	}
	return shown, nil
}

// GetJobMetrics implements insightv1connect.ConnectorInsightServiceHandler. Every replica can ask the connector. Viewers cannot
// multiply its calls: an answer counts for some seconds, and few calls are made at a time.
func (h *handler) GetJobMetrics(ctx context.Context, r *insightv1.GetJobMetricsRequest) (*insightv1.GetJobMetricsResponse, error) {
	job, err := h.jobOf(ctx, r.GetActionId(), r.GetAttempt())
	if err != nil {
		return nil, err
	}
	if job.Stage < store.Created {
		return nil, rpc.NotFound("the job of attempt %d has not started", r.GetAttempt())
	}
	w, err := h.workerOf(job)
	if err != nil {
		return nil, err
	}
	if !h.registry.measured.stale(job.Connector, job.TaskType, h.registry.deps.Clock.Now()) && !h.registry.measured.has(job.Connector, job.TaskType) {
		return &insightv1.GetJobMetricsResponse{Unsupported: true}, nil
	}
	return h.registry.asked.metrics(ctx, job.UID, job.Attempt, h.registry.deps.Clock.Now, func() (*insightv1.GetJobMetricsResponse, error) {
		answer, err := w.metrics(ctx, job)
		unsupported := connect.IsWireError(err) && (connect.CodeOf(err) == connect.CodeUnimplemented || connect.CodeOf(err) == connect.CodeUnknown)
		switch {
		case unsupported:
			// The connector library says unknown of a connector that has none.
			h.registry.measured.set(job.Connector, job.TaskType, false, h.registry.deps.Clock.Now())
			return &insightv1.GetJobMetricsResponse{Unsupported: true}, nil
		case err != nil:
			return nil, rpc.Unavailable(err, "the connector %s did not send the metrics of the job: %s", job.Connector, said(err))
		}
		h.registry.measured.set(job.Connector, job.TaskType, true, h.registry.deps.Clock.Now())
		return answer, nil
	})
}

// jobOf reads the job of an attempt that has not ended.
func (h *handler) jobOf(ctx context.Context, action *common.ActionIdentifier, attempt uint32) (*store.Job, error) {
	id := ident.ActionOf(action)
	job, err := h.store.JobOf(ctx, id, attempt)
	if err != nil {
		return nil, err
	}
	if job == nil || job.HasEnded() {
		return nil, rpc.NotFound("no connector has attempt %d of action %s now", attempt, id)
	}
	return job, nil
}

// workerOf calls the connector of a job.
func (h *handler) workerOf(job *store.Job) (*worker, error) {
	reached := h.registry.fleet.find(job.Connector)
	if reached == nil {
		return nil, rpc.Unavailable(nil, "the connector %s is no longer configured", job.Connector)
	}
	return &worker{registry: h.registry, remote: reached, silence: &silence{first: h.registry.config.MinPoll, longest: h.registry.config.MaxBackoff}}, nil
}
