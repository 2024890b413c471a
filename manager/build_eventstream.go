package manager

import (
	"context"
	"crypto/rand"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

func buildEventStream(_ context.Context, p *process) (lifecycle.Part, error) {
	if len(p.config.EventStream.Sinks) == 0 {
		return lifecycle.Idle{}, nil
	}
	return cloudevents.New(p.config.EventStream, cloudevents.Deps{
		Backlog: backlog{worklists.NewUnpublished(p.pool)}, Leases: pgdb.NewLeases(p.pool, p.clock, rand.Text()), Clock: p.clock, Logger: p.log,
		Meter: p.telemetry.Meter,
	})
}

// backlog is the runs service's list of events to publish, as the event stream reads it.
type backlog struct{ *worklists.Unpublished }

var _ cloudevents.Backlog = backlog{}

// Ranges implements eventstream.Backlog.
func (b backlog) Ranges(ctx context.Context, sink string, limit int) ([]cloudevents.Range, error) {
	rows, err := b.Unpublished.Ranges(ctx, sink, limit)
	if err != nil {
		return nil, err
	}
	found := make([]cloudevents.Range, len(rows))
	for i, row := range rows {
		found[i] = cloudevents.Range{ID: row.ID, RunID: row.RunID, First: row.First, Last: row.Last}
	}
	return found, nil
}

// Events implements eventstream.Backlog.
func (b backlog) Events(ctx context.Context, ranges []cloudevents.Range) ([]cloudevents.Event, error) {
	wanted := make([]worklists.Range, len(ranges))
	for i, r := range ranges {
		wanted[i] = worklists.Range{ID: r.ID, RunID: r.RunID, First: r.First, Last: r.Last}
	}
	rows, err := b.Unpublished.Events(ctx, wanted)
	if err != nil {
		return nil, err
	}
	found := make([]cloudevents.Event, len(rows))
	for i, row := range rows {
		found[i] = cloudevents.Event{
			RunID: row.RunID, Seq: row.Seq, Action: row.Action, Parent: row.Parent, Type: workflow.ActionType(row.Type), TaskName: row.TaskName,
			Attempt: row.Attempt, Phase: common.ActionPhase(row.Phase), Version: row.Version, At: row.RecordedAt, Error: row.Error,
		}
	}
	return found, nil
}
