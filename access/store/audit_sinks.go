package store

import (
	"context"
	"fmt"
	"time"
)

// The numbers of audit events grow in the order of their commits, since each transaction that adds some holds the end of the chain. So
// one number says what a sink has been sent.

// AuditPosition is the number of the last event that a sink has. A sink that is new has all that there are.
func (s *Store) AuditPosition(ctx context.Context, sink string) (number int64, err error) {
	const read = `WITH new AS (INSERT INTO access_audit_sinks (sink, position) SELECT $1, last FROM access_audit_chain
			ON CONFLICT (sink) DO NOTHING RETURNING position)
		SELECT position FROM new UNION ALL SELECT position FROM access_audit_sinks WHERE sink = $1`
	if err := s.pool.QueryRow(ctx, read, sink).Scan(&number); err != nil {
		return 0, fmt.Errorf("read which audit events the sink %s has: %w", sink, err)
	}
	return number, nil
}

// MoveAuditPosition records that a sink has the events up to a number.
func (s *Store) MoveAuditPosition(ctx context.Context, sink string, number int64) error {
	if _, err := s.pool.Exec(ctx, `UPDATE access_audit_sinks SET position = $2 WHERE sink = $1 AND position < $2`, sink, number); err != nil {
		return fmt.Errorf("record which audit events the sink %s has: %w", sink, err)
	}
	return nil
}

// AuditWaiting counts the events that a sink does not have, up to limit, and returns when the oldest was made; the zero time without any.
func (s *Store) AuditWaiting(ctx context.Context, sink string, limit int) (count int, oldest time.Time, err error) {
	const read = `SELECT count(*), min(at) FROM (SELECT at FROM access_audit
		WHERE sequence > (SELECT position FROM access_audit_sinks WHERE sink = $1) ORDER BY sequence LIMIT $2) w`
	var at *time.Time
	if err := s.pool.QueryRow(ctx, read, sink, limit).Scan(&count, &at); err != nil {
		return 0, time.Time{}, fmt.Errorf("count the audit events that wait for the sink %s: %w", sink, err)
	}
	if at != nil {
		oldest = *at
	}
	return count, oldest, nil
}
