package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

// chain adds events to the chain. The row of its end is locked, so that one transaction at a time adds to it.
func chain(ctx context.Context, tx pgx.Tx, events []AuditEvent, seal Seal) error {
	if len(events) == 0 {
		return nil
	}
	var last int64
	var hash []byte
	if err := tx.QueryRow(ctx, `SELECT last, hash FROM access_audit_chain FOR UPDATE`).Scan(&last, &hash); err != nil {
		return err
	}
	source := pgx.CopyFromSlice(len(events), func(i int) ([]any, error) {
		e := events[i]
		last++
		e.Sequence = last
		hash = seal(hash, e)
		if e.Resources == nil {
			e.Resources = []string{}
		}
		return []any{
			e.Sequence, e.At, e.Kind, e.Subject, e.Credential, e.Peer, e.Procedure, e.Permission, e.Resources, e.Project, e.Domain, e.Outcome,
			e.Error, e.RequestID, hash, e.UserAgent,
		}, nil
	})
	if _, err := tx.CopyFrom(ctx, pgx.Identifier{"access_audit"}, auditColumns, source); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE access_audit_chain SET last = $1, hash = $2`, last, hash)
	return err
}

var auditColumns = []string{
	"sequence", "at", "kind", "subject", "credential", "peer", "procedure", "permission", "resources", "project", "domain", "outcome", "error",
	"request_id", "hash", "user_agent",
}

const auditSelect = `SELECT sequence, at, kind, subject, credential, peer, procedure, permission, resources, project, domain, outcome, error,
	request_id, hash, user_agent FROM access_audit`

func scanAudit(row pgx.CollectableRow) (e AuditEvent, err error) {
	err = row.Scan(&e.Sequence, &e.At, &e.Kind, &e.Subject, &e.Credential, &e.Peer, &e.Procedure, &e.Permission, &e.Resources, &e.Project,
		&e.Domain, &e.Outcome, &e.Error, &e.RequestID, &e.Hash, &e.UserAgent)
	e.At = e.At.UTC()
	return e, err
}

// AuditFilter says which events a search has. Empty fields match everything.
type AuditFilter struct {
	From, Until                  time.Time
	Subject, Permission, Outcome string
	Project, Domain              string
	// Before is the number before which the search continues; 0 begins with the newest.
	Before int64
	// OldestFirst turns the order around: the search has the events after the number After.
	OldestFirst bool
	After       int64
	Limit       int
}

// SearchAudit are the events that pass a filter, newest first unless it says otherwise.
func (s *Store) SearchAudit(ctx context.Context, filter AuditFilter) ([]AuditEvent, error) {
	var b listquery.Builder
	for column, value := range map[string]string{
		"subject": filter.Subject, "permission": filter.Permission, "outcome": filter.Outcome, "project": filter.Project, "domain": filter.Domain,
	} {
		if value != "" {
			b.Equal(column, value)
		}
	}
	if !filter.From.IsZero() {
		b.Where("at >= " + b.Arg(filter.From, "timestamptz"))
	}
	if !filter.Until.IsZero() {
		b.Where("at < " + b.Arg(filter.Until, "timestamptz"))
	}
	if filter.Before != 0 {
		b.Where("sequence < " + b.Arg(filter.Before, "bigint"))
	}
	order := "DESC"
	if filter.OldestFirst {
		order = "ASC"
		b.Where("sequence > " + b.Arg(filter.After, "bigint"))
	}
	limit := b.Arg(filter.Limit, "bigint")
	rows, err := s.pool.Query(ctx, auditSelect+` WHERE `+b.Conditions()+` ORDER BY sequence `+order+` LIMIT `+limit, b.Args()...)
	if err != nil {
		return nil, fmt.Errorf("search audit events: %w", err)
	}
	events, err := pgx.CollectRows(rows, scanAudit)
	if err != nil {
		return nil, fmt.Errorf("search audit events: %w", err)
	}
	return events, nil
}

// AuditChain is where the chain begins and ends.
type AuditChain struct {
	// First is the number of the oldest event that is kept, Before the hash before it.
	First  int64
	Before []byte
	// Last is the number of the newest event, Hash its hash.
	Last int64
	Hash []byte
}

// WalkAudit calls chain, and then each for every event, oldest first, as they are at one moment.
func (s *Store) WalkAudit(ctx context.Context, began func(AuditChain), each func(AuditEvent) (more bool)) error {
	const step = 1000
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error {
		var c AuditChain
		if err := tx.QueryRow(ctx, `SELECT first, before, last, hash FROM access_audit_chain`).Scan(&c.First, &c.Before, &c.Last, &c.Hash); err != nil {
			return err
		}
		began(c)
		for after := int64(0); ; {
			rows, err := tx.Query(ctx, auditSelect+` WHERE sequence > $1 ORDER BY sequence LIMIT $2`, after, step)
			if err != nil {
				return err
			}
			events, err := pgx.CollectRows(rows, scanAudit)
			if err != nil {
				return err
			}
			for _, event := range events {
				if !each(event) {
					return nil
				}
				after = event.Sequence
			}
			if len(events) < step {
				return nil
			}
		}
	})
	if err != nil {
		return fmt.Errorf("read the audit events: %w", err)
	}
	return nil
}

// TrimAudit removes events from the oldest end that are older than a time, at most limit of them, and returns how many. The chain
// then begins after them.
func (s *Store) TrimAudit(ctx context.Context, before time.Time, limit int) (removed int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var c AuditChain
		if err := tx.QueryRow(ctx, `SELECT first, before, last, hash FROM access_audit_chain FOR UPDATE`).Scan(&c.First, &c.Before, &c.Last, &c.Hash); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, auditSelect+` WHERE sequence >= $1 AND sequence < $1 + $2 ORDER BY sequence`, c.First, limit)
		if err != nil {
			return err
		}
		events, err := pgx.CollectRows(rows, scanAudit)
		if err != nil {
			return err
		}
		if young := slices.IndexFunc(events, func(e AuditEvent) bool { return !e.At.Before(before) }); young >= 0 {
			events = events[:young]
		}
		if removed = len(events); removed == 0 {
			return nil
		}
		last := events[removed-1]
		if _, err := tx.Exec(ctx, `DELETE FROM access_audit WHERE sequence <= $1`, last.Sequence); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE access_audit_chain SET first = $1, before = $2`, last.Sequence+1, bytes.Clone(last.Hash))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("remove old audit events: %w", err)
	}
	return removed, nil
}
