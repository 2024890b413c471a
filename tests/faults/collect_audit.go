package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
)

// chained returns the number of the newest audit event, and of the newest that the sink has; 0 if it is not known to the server yet.
func chained(ctx context.Context, conn *pgx.Conn) (last, sent int64, err error) {
	const read = `SELECT (SELECT last FROM access_audit_chain), coalesce((SELECT max(position) FROM access_audit_sinks), 0)`
	if err := conn.QueryRow(ctx, read).Scan(&last, &sent); err != nil {
		return 0, 0, fmt.Errorf("read the end of the record: %w", err)
	}
	return last, sent, nil
}

// record waits until the server sends audit events to the sink, and notes which one is the newest.
func (d *driver) record(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, d.stack.DSN())
	if err != nil {
		return fmt.Errorf("read the end of the record: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it only read
	for sent := int64(0); sent == 0; {
		if d.audited, sent, err = chained(ctx, conn); err != nil {
			return err
		}
		if sent == 0 && !sleep(ctx, 100*time.Millisecond) {
			return fmt.Errorf("the server sends no audit events: %w", ctx.Err())
		}
	}
	return nil
}

// sentAudit waits until the sink has the newest audit event, and returns its number. Callers make more events all the time.
func (c *collector) sentAudit(ctx context.Context, conn *pgx.Conn) (last int64, err error) {
	last, sent, err := chained(ctx, conn)
	for deadline := time.Now().Add(stuckAfter); err == nil && sent < last && time.Now().Before(deadline) && sleep(ctx, 100*time.Millisecond); {
		_, sent, err = chained(ctx, conn)
	}
	return last, err
}

// audit reads the record of the storm, and what the sink took of it.
func (c *collector) audit(ctx context.Context, conn *pgx.Conn) (found check.Audit, err error) {
	last, err := c.sentAudit(ctx, conn)
	if err != nil {
		return found, err
	}
	rows, err := conn.Query(ctx, `SELECT sequence, hash, permission, outcome, resources FROM access_audit
		WHERE sequence > $1 AND sequence <= $2 ORDER BY sequence`, c.driver.audited, last)
	if err != nil {
		return found, fmt.Errorf("read the record: %w", err)
	}
	found.Events, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e check.AuditEvent, err error) {
		var hash []byte
		err = row.Scan(&e.Sequence, &hash, &e.Permission, &e.Outcome, &e.Resources)
		e.Hash = hex.EncodeToString(hash)
		return e, err
	})
	if err != nil {
		return found, fmt.Errorf("read the record: %w", err)
	}
	rows, err = conn.Query(ctx, `SELECT event::text FROM access_audit_open UNION ALL SELECT event FROM access_audit_made`)
	if err != nil {
		return found, fmt.Errorf("read what is not part of the record yet: %w", err)
	}
	found.Open, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e check.AuditEvent, err error) {
		var event []byte
		if err := row.Scan(&event); err != nil {
			return e, err
		}
		return e, json.Unmarshal(event, &e)
	})
	if err != nil {
		return found, fmt.Errorf("read what is not part of the record yet: %w", err)
	}
	for _, sent := range c.stack.Sink.Audited() {
		found.Sent = append(found.Sent, check.AuditSent{Sequence: sent.Sequence, Hash: sent.Hash})
	}
	err = insist(ctx, func(ctx context.Context) error {
		verified, err := c.driver.root.audit.VerifyAudit(ctx, &accessv1.VerifyAuditRequest{})
		found.Problem = verified.GetProblem()
		return err //nolint:wrapcheck // it names the procedure
	})
	return found, err
}
