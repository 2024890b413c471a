package manager

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/flyte-binary/flyte-binary/access/audit"
	accessstore "github.com/flyte-binary/flyte-binary/access/store"
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
		Backlog: backlog{worklists.NewUnpublished(p.pool)}, Audit: auditLog{accessstore.New(p.pool, p.clock)}, Leases: pgdb.NewLeases(p.pool, p.clock, rand.Text()), Clock: p.clock, Logger: p.log,
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

// auditLog is the record of what was done, as the event stream reads it.
type auditLog struct{ store *accessstore.Store }

var _ cloudevents.AuditLog = auditLog{}

// After implements cloudevents.AuditLog.
func (l auditLog) After(ctx context.Context, number int64, limit int) ([]cloudevents.AuditEvent, error) {
	rows, err := l.store.SearchAudit(ctx, accessstore.AuditFilter{OldestFirst: true, After: number, Limit: limit})
	if err != nil {
		return nil, err
	}
	found := make([]cloudevents.AuditEvent, len(rows))
	for i, row := range rows {
		data, err := audit.JSON(row)
		if err != nil {
			return nil, err
		}
		found[i] = cloudevents.AuditEvent{Number: row.Sequence, At: row.At, Subject: row.Procedure, Data: data}
		if len(row.Resources) > 0 {
			found[i].Subject = row.Resources[0]
		}
	}
	return found, nil
}

// Position implements cloudevents.AuditLog.
func (l auditLog) Position(ctx context.Context, sink string) (int64, error) {
	return l.store.AuditPosition(ctx, sink)
}

// Move implements cloudevents.AuditLog.
func (l auditLog) Move(ctx context.Context, sink string, number int64) error {
	return l.store.MoveAuditPosition(ctx, sink, number)
}

// Oldest implements cloudevents.AuditLog.
func (l auditLog) Oldest(ctx context.Context, sink string) (time.Time, error) {
	_, oldest, err := l.store.AuditWaiting(ctx, sink, 1)
	return oldest, err
}
