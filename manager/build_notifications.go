package manager

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/notifications"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

func buildNotifications(_ context.Context, p *process) (lifecycle.Part, error) {
	service, err := notifications.New(p.config.Notifications, notifications.Deps{
		Pool: p.pool, Outbox: outbox{worklists.NewOutbox(p.pool)}, Listener: p.notices, OutboxChannel: notices.ChannelLists, Clock: p.clock, Logger: p.log, Meter: p.telemetry.Meter,
	})
	if err != nil {
		return nil, err
	}
	service.Mount(p.mux)
	return service, nil
}

// outbox is the runs service's outbox, as the notifications service reads it.
type outbox struct{ rows *worklists.Outbox }

var _ notifications.Outbox = outbox{}

// Pending implements notifications.Outbox.
func (o outbox) Pending(ctx context.Context, limit int) ([]notifications.Occurrence, error) {
	rows, err := o.rows.Pending(ctx, limit)
	if err != nil {
		return nil, err
	}
	found := make([]notifications.Occurrence, len(rows))
	for i, row := range rows {
		found[i] = notifications.Occurrence{
			ID: row.ID, RunID: row.RunID, Action: row.Action, Phase: common.ActionPhase(row.Phase), Gone: row.Gone,
			Error: row.Error, AbortReason: row.AbortReason, RunSpec: row.RunSpec, Condition: row.Condition,
		}
	}
	return found, nil
}

// Remove implements notifications.Outbox.
func (o outbox) Remove(ctx context.Context, ids []int64) error { return o.rows.Remove(ctx, ids) }

// Oldest implements notifications.Outbox.
func (o outbox) Oldest(ctx context.Context) (time.Time, error) { return o.rows.Oldest(ctx) }
