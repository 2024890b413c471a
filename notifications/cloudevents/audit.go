package cloudevents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// typeAudit is the type of audit events.
const typeAudit = "org.flyte.audit"

// auditKey keeps audit events in order: a receiver gets each after the one before it.
const auditKey = "audit"

// AuditEvent is a row of the record of what was done.
type AuditEvent struct {
	Number  int64
	At      time.Time
	Subject string          // what was done something to
	Data    json.RawMessage // the event itself
}

// AuditLog is the record of what was done. Its numbers grow in the order in which events can be read, and have no gaps but those of
// retention.
type AuditLog interface {
	// After reads the events that follow a number, in their order.
	After(ctx context.Context, number int64, limit int) ([]AuditEvent, error)
	// Position is the number of the last event that a sink has. A new sink has all that there are.
	Position(ctx context.Context, sink string) (int64, error)
	// Move records that a sink has the events up to a number.
	Move(ctx context.Context, sink string, number int64) error
	// Oldest is when the oldest event was made that a sink does not have; the zero time when there is none.
	Oldest(ctx context.Context, sink string) (time.Time, error)
}

// sendAudit sends the oldest audit events that a sink does not have, and then records which ones it has. If the process dies between the
// two, they are sent again.
func (s *Service) sendAudit(ctx context.Context, sink string) (int, error) {
	position, err := s.deps.Audit.Position(ctx, sink)
	if err != nil {
		return 0, err
	}
	events, err := s.deps.Audit.After(ctx, position, s.config.Batch)
	if err != nil || len(events) == 0 {
		return 0, err
	}
	batch := make([]*message, len(events))
	for i := range events {
		if batch[i], err = messageOfAudit(s.config.Source, &events[i]); err != nil {
			return 0, err
		}
	}
	failure := s.publish(ctx, sink, batch)
	sent := 0
	for sent < len(batch) && batch[sent].sent {
		sent++
	}
	if sent == 0 {
		return len(events), failure
	}
	last := events[sent-1].Number
	if err := s.deps.Audit.Move(ctx, sink, last); err != nil {
		return 0, errors.Join(failure, err)
	}
	s.count(ctx, sink, int64(sent), last-position-int64(sent))
	return len(events), failure
}

// messageOfAudit encodes an audit event. Its id is the same whenever it is sent.
func messageOfAudit(source string, e *AuditEvent) (*message, error) {
	out := cloudEvent{
		SpecVersion: "1.0", ID: fmt.Sprintf("audit-%d", e.Number), Source: source, Type: typeAudit, Subject: e.Subject, Time: e.At.UTC(),
		DataContentType: "application/json", PartitionKey: auditKey, Sequence: fmt.Sprintf("%019d", e.Number), Data: e.Data,
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode audit event %d: %w", e.Number, err)
	}
	return &message{id: out.ID, key: auditKey, seq: e.Number, dedup: source + "/" + out.ID, words: []string{auditKey}, body: body}, nil
}
