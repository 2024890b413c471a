package system

import (
	"context"
	"fmt"
	"time"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

const (
	// sinkLags is how long a change may wait for a sink before the sink is shown as degraded.
	sinkLags = time.Minute
	// countedChanges bounds what is counted for the page.
	countedChanges = 10_000
)

// Waiting counts what waits for a sink, up to limit, and returns when the oldest of it was made.
type Waiting func(ctx context.Context, sink string, limit int) (count int, oldest time.Time, err error)

// SinkComponents reports, for each sink of the changes of runs, what waits for it.
func SinkComponents(ctx context.Context, sinks []string, list *worklists.Unpublished, clock clock.Clock) []*insightv1.Component {
	return components(ctx, "sink: ", sinks, list.Waiting, clock, changes)
}

// AuditSinkComponents reports, for each sink of the audit events, what waits for it.
func AuditSinkComponents(ctx context.Context, sinks []string, waiting Waiting, clock clock.Clock) []*insightv1.Component {
	return components(ctx, "audit sink: ", sinks, waiting, clock, auditEvents)
}

func components(
	ctx context.Context, prefix string, sinks []string, waiting Waiting, clock clock.Clock, words func(count int) string,
) []*insightv1.Component {
	components := make([]*insightv1.Component, len(sinks))
	for i, name := range sinks {
		component := &insightv1.Component{Name: prefix + name, Healthy: true}
		switch count, oldest, err := waiting(ctx, name, countedChanges+1); {
		case err != nil:
			component.Degraded, component.Message = true, "what waits for it cannot be read"
		case count == 0:
			component.Message = "nothing waits"
		default:
			waited := max(0, clock.Now().Sub(oldest)).Round(time.Second)
			component.Degraded = waited > sinkLags
			component.Message = fmt.Sprintf("%s, the oldest for %s", words(count), waited)
			if waited > sinkLags {
				component.Message += "; the log of the server has the reason"
			}
		}
		components[i] = component
	}
	return components
}

func changes(count int) string {
	switch {
	case count > countedChanges:
		return fmt.Sprintf("more than %d changes of runs wait", countedChanges)
	case count == 1:
		return "1 change of a run waits"
	default:
		return fmt.Sprintf("%d changes of runs wait", count)
	}
}

func auditEvents(count int) string {
	switch {
	case count > countedChanges:
		return fmt.Sprintf("more than %d audit events wait", countedChanges)
	case count == 1:
		return "1 audit event waits"
	default:
		return fmt.Sprintf("%d audit events wait", count)
	}
}
