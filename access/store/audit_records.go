package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// AuditEvent is one thing that was done, or refused.
type AuditEvent struct {
	Sequence   int64 `json:"-"` // of the chain; 0 before it is part of it
	At         time.Time
	Kind       string
	Subject    string
	Credential string `json:",omitempty"`
	Peer       string `json:",omitempty"`
	Procedure  string
	Permission string
	Resources  []string
	Project    string `json:",omitempty"` // of the first resource
	Domain     string `json:",omitempty"`
	Outcome    string
	Error      string `json:",omitempty"`
	RequestID  string `json:",omitempty"`
	UserAgent  string `json:",omitempty"`
	Hash       []byte `json:"-"` // over the event and the hash before it
}

// AuditEnd is an event to be added to the chain. With an id it has a record already, which goes when the event is added. Without that
// record the event is dropped, since it was added before.
type AuditEnd struct {
	ID AuditID
	// Begun says that the record is that of a call which was begun, and not that of a change which was made.
	Begun bool
	Event AuditEvent
}

// AuditID is the id of a record that is not part of the chain yet; the zero value is none.
type AuditID [16]byte

// NewAuditID returns a new id of a call: a UUID of version 7. Ids of one time have neighbouring entries in an index.
func NewAuditID(at time.Time) AuditID {
	id := earliestAuditID(at)
	_, _ = rand.Read(id[6:]) // it never fails
	id[6], id[8] = id[6]&0x0f|0x70, id[8]&0x3f|0x80
	return id
}

// earliestAuditID is before all ids of a time.
func earliestAuditID(at time.Time) (id AuditID) {
	binary.BigEndian.PutUint64(id[:], uint64(at.UnixMilli())<<16)
	return id
}

func (id AuditID) column() pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// BeginAudit records calls that are about to be handled, whose outcome is unknown. It returns when the records are on disk.
func (s *Store) BeginAudit(ctx context.Context, begun []AuditEnd) error {
	ids, events, err := columns(begun)
	if err != nil {
		return err
	}
	times := make([]time.Time, len(begun))
	for i, one := range begun {
		times[i] = one.Event.At
	}
	const insert = `INSERT INTO access_audit_open (id, begun, event) SELECT id::text, begun, event::jsonb
		FROM unnest($1::uuid[], $2::timestamptz[], $3::text[]) AS u (id, begun, event)`
	if _, err := s.pool.Exec(ctx, insert, ids, times, events); err != nil {
		return fmt.Errorf("record the beginning of calls: %w", err)
	}
	return nil
}

// QueueAudit adds the statement that records calls whose change the same transaction makes. They are not part of the chain yet.
func (s *Store) QueueAudit(statements *pgx.Batch, made []AuditEnd) error {
	ids, events, err := columns(made)
	switch {
	case err != nil:
		return err
	case len(made) == 1: // most transactions of few callers; it takes Postgres less time
		statements.Queue(`INSERT INTO `+s.made+` (id, event) VALUES ($1, $2)`, ids[0], events[0])
	default:
		statements.Queue(`INSERT INTO `+s.made+` (id, event) SELECT * FROM unnest($1::uuid[], $2::text[])`, ids, events)
	}
	return nil
}

// columns are the ids and the events of records.
func columns(records []AuditEnd) (ids []pgtype.UUID, events []string, err error) {
	ids, events = make([]pgtype.UUID, len(records)), make([]string, len(records))
	for i, one := range records {
		text, err := json.Marshal(one.Event)
		if err != nil {
			return nil, nil, fmt.Errorf("record calls that are not part of the chain: %w", err)
		}
		ids[i], events[i] = one.ID.column(), string(text)
	}
	return ids, events, nil
}

// Seal is the hash of an event after another hash.
type Seal func(before []byte, event AuditEvent) []byte

// AppendAudit adds events to the chain, in order, and removes the records that they have had until now.
func (s *Store) AppendAudit(ctx context.Context, ends []AuditEnd, seal Seal) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		removed, err := removeRecords(ctx, tx, ends)
		if err != nil {
			return err
		}
		var events []AuditEvent
		for _, end := range ends {
			if removed[end.ID] || end.ID == (AuditID{}) {
				events = append(events, end.Event)
			}
		}
		return chain(ctx, tx, events, seal)
	})
	if err != nil {
		return fmt.Errorf("record calls: %w", err)
	}
	return nil
}

// removeRecords removes the records of events, and returns those that were there.
func removeRecords(ctx context.Context, tx pgx.Tx, ends []AuditEnd) (removed map[AuditID]bool, err error) {
	var begun, made []pgtype.UUID
	for _, end := range ends {
		switch {
		case end.ID == (AuditID{}):
		case end.Begun:
			begun = append(begun, end.ID.column())
		default:
			made = append(made, end.ID.column())
		}
	}
	removed = make(map[AuditID]bool, len(begun)+len(made))
	remove := func(statement string, ids []pgtype.UUID) error {
		if len(ids) == 0 {
			return nil
		}
		rows, err := tx.Query(ctx, statement, ids)
		if err != nil {
			return err
		}
		var id pgtype.UUID
		_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
			removed[id.Bytes] = true
			return nil
		})
		return err
	}
	if err := remove(`DELETE FROM access_audit_made WHERE id = ANY($1) RETURNING id`, made); err != nil {
		return nil, err
	}
	return removed, remove(`DELETE FROM access_audit_open WHERE id = ANY($1::uuid[]::text[]) RETURNING id::uuid`, begun)
}

// LostAudit says which calls of processes that died are added to the chain.
type LostAudit struct {
	// Made are calls before this time whose record was committed with their change.
	Made time.Time
	// Begun are calls that began before this time and have no end. They get the outcome and the error of End.
	Begun time.Time
	End   AuditEvent
}

const (
	// lostMade are records of changes that no process has added to the chain.
	lostMade = `DELETE FROM access_audit_made WHERE id IN (
		SELECT id FROM access_audit_made WHERE id < $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING event`
	// lostBegun are calls that no process has ended, and records of changes that processes of versions before access_audit_made have made.
	lostBegun = `DELETE FROM access_audit_open WHERE id IN (
		SELECT id FROM access_audit_open WHERE begun < CASE WHEN ` + unknownOutcome + ` THEN $1::timestamptz ELSE $2 END
		ORDER BY begun LIMIT $3 FOR UPDATE SKIP LOCKED) RETURNING event`
)

// EndLostAudit adds calls to the chain whose processes died before they did it. It returns how many there were.
func (s *Store) EndLostAudit(ctx context.Context, lost LostAudit, limit int, seal Seal) (ended int, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		made, err := readEvents(tx.Query(ctx, lostMade, earliestAuditID(lost.Made).column(), limit))
		if err != nil {
			return err
		}
		begun, err := readEvents(tx.Query(ctx, lostBegun, lost.Begun, lost.Made, limit-len(made)))
		if err != nil {
			return err
		}
		for i := range begun {
			if begun[i].Outcome == "unknown" {
				begun[i].Outcome, begun[i].Error = lost.End.Outcome, lost.End.Error
			}
		}
		events := append(made, begun...)
		slices.SortStableFunc(events, func(a, b AuditEvent) int { return a.At.Compare(b.At) })
		ended = len(events)
		return chain(ctx, tx, events, seal)
	})
	if err != nil {
		return 0, fmt.Errorf("end the calls of processes that died: %w", err)
	}
	return ended, nil
}

// unknownOutcome is true for rows of access_audit_open whose change may have been made or not. Processes of versions before
// access_audit_made have others there too, which were committed with their change.
const unknownOutcome = `event->>'Outcome' = 'unknown'`

// OpenAudit are calls that pass a filter, were begun before a time and have no end, oldest first.
func (s *Store) OpenAudit(ctx context.Context, filter AuditFilter, before time.Time) ([]AuditEvent, error) {
	const read = `SELECT event FROM access_audit_open WHERE begun < $1 AND ` + unknownOutcome + ` AND ($2 = '' OR event->>'Subject' = $2) AND ($3 = '' OR event->>'Permission' = $3)
		AND ($4 = '' OR event->>'Project' = $4) AND ($5 = '' OR event->>'Domain' = $5) ORDER BY begun LIMIT $6`
	events, err := readEvents(s.pool.Query(ctx, read, before, filter.Subject, filter.Permission, filter.Project, filter.Domain, filter.Limit))
	if err != nil {
		return nil, fmt.Errorf("read calls that have not ended: %w", err)
	}
	return events, nil
}

// readEvents reads the events of records.
func readEvents(rows pgx.Rows, err error) ([]AuditEvent, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (event AuditEvent, err error) {
		var text []byte
		if err := row.Scan(&text); err != nil {
			return event, err
		}
		return event, json.Unmarshal(text, &event)
	})
}
