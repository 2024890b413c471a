package access

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// Change makes a change of the command line. The record of it is stored in the transaction of the change. about are the resources of the
// record that are known before; change returns those that it made. A change that fails is not recorded.
func (t *Tools) Change(ctx context.Context, permission string, about []string, change func(ctx context.Context) (made []string, err error)) error {
	event := t.event(permission, about)
	r := &toolRecord{store: t.store, end: store.AuditEnd{ID: store.NewAuditID(event.At), Event: event}}
	made, err := change(authz.WithRecord(ctx, r))
	if !r.committed && err != nil {
		return err
	}
	r.end.Event.Resources = append(r.end.Event.Resources, made...)
	if !r.committed { // what was asked for was so already
		r.end.ID = store.AuditID{}
	}
	recorded := t.store.AppendAudit(ctx, []store.AuditEnd{r.end}, audit.Seal)
	if recorded != nil && r.committed { // a server does it later
		t.log.Warn().Err(recorded).Msg("the record of the change is not part of the chain yet")
		return err
	}
	return errors.Join(err, recorded)
}

// event is one of the command line.
func (t *Tools) event(permission string, resources []string) store.AuditEvent {
	return store.AuditEvent{
		At: t.clock.Now(), Kind: authz.Service.String(), Subject: CommandLine, Procedure: "flyte-binary", Permission: permission,
		Resources: append([]string{}, resources...), Outcome: authz.Succeeded.String(),
	}
}

// toolRecord is the record of a change of the command line. A command makes one transaction at a time.
type toolRecord struct {
	store     *store.Store
	end       store.AuditEnd
	committed bool
}

var _ pgdb.Record = (*toolRecord)(nil)

// Queue implements pgdb.Record.
func (r *toolRecord) Queue(statements *pgx.Batch) error {
	if r.committed {
		return nil
	}
	return r.store.QueueAudit(statements, []store.AuditEnd{r.end})
}

// Committed implements pgdb.Record.
func (r *toolRecord) Committed() { r.committed = true }
