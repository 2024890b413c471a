package bridge

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// metrics counts what the bridge does. What it mended is what a perfect stream would have made needless.
type metrics struct {
	created, deleted, mended, failures, rejected metric.Int64Counter
	live                                         metric.Int64Gauge
}

func newMetrics(provider metric.MeterProvider) (*metrics, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/actions/bridge")
	m := &metrics{}
	for _, c := range []struct {
		counter    *metric.Int64Counter
		name, what string
	}{
		{&m.created, "flyte.bridge.created", "TaskActions created"},
		{&m.deleted, "flyte.bridge.deleted", "TaskActions deleted"},
		{&m.mended, "flyte.mended", "divergences between database, TaskActions and pods that were mended"},
		{&m.failures, "flyte.bridge.failures", "calls that failed and are repeated"},
		{&m.rejected, "flyte.bridge.rejected", "actions failed because the API server refuses their TaskAction"},
	} {
		var err error
		if *c.counter, err = meter.Int64Counter(c.name, metric.WithDescription(c.what)); err != nil {
			return nil, fmt.Errorf("make metric %s: %w", c.name, err)
		}
	}
	var err error
	if m.live, err = meter.Int64Gauge("flyte.bridge.live", metric.WithDescription("admitted, unfinished actions")); err != nil {
		return nil, fmt.Errorf("make metric flyte.bridge.live: %w", err)
	}
	return m, nil
}

// What the bridge mends.
const (
	// mendedMissing: a live row had no TaskAction.
	mendedMissing = "task_action_missing"
	// mendedDeleted: somebody deleted the TaskAction of a live row.
	mendedDeleted = "task_action_deleted"
	// mendedFinished: the row had ended, and its TaskAction was still there.
	mendedFinished = "task_action_finished"
	// mendedUnknown: a TaskAction of ours had no row.
	mendedUnknown = "task_action_unknown"
	// mendedUnmarked: a TaskAction of ours was from before there were marks of ownership.
	mendedUnmarked = "task_action_unmarked"
)

// mended counts and tells one divergence. object may be nil.
func (s *session) mended(ctx context.Context, kind string, uid int64, object *metav1.PartialObjectMetadata) {
	s.metrics.mended.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", kind)))
	level := zerolog.WarnLevel
	if kind == mendedMissing { // what was admitted while no bridge was active
		level = zerolog.InfoLevel
	}
	event := s.logger.WithLevel(level).Str("kind", kind).Int64("uid", uid)
	if object != nil {
		event = event.Str("namespace", object.Namespace).Str("taskAction", object.Name).Stringer("action", labelledAction(object))
	}
	event.Msg("mended")
}
