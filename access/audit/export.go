package audit

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/access/store"
)

// exported is an event as other systems get it, by export and by the event stream.
type exported struct {
	Sequence   int64     `json:"sequence"`
	At         time.Time `json:"at"`
	Kind       string    `json:"kind"`
	Subject    string    `json:"subject"`
	Credential string    `json:"credential,omitempty"`
	Peer       string    `json:"peer,omitempty"`
	UserAgent  string    `json:"userAgent,omitempty"`
	RequestID  string    `json:"requestId,omitempty"`
	Procedure  string    `json:"procedure"`
	Permission string    `json:"permission"`
	Resources  []string  `json:"resources"`
	Project    string    `json:"project,omitempty"`
	Domain     string    `json:"domain,omitempty"`
	Outcome    string    `json:"outcome"`
	Error      string    `json:"error,omitempty"`
	Hash       string    `json:"hash"`
}

// JSON is an event on one line, without the end of the line.
func JSON(e store.AuditEvent) ([]byte, error) {
	line, err := json.Marshal(exported{
		Sequence: e.Sequence, At: e.At, Kind: e.Kind, Subject: e.Subject, Credential: e.Credential, Peer: e.Peer, UserAgent: e.UserAgent,
		RequestID: e.RequestID, Procedure: e.Procedure, Permission: e.Permission, Resources: e.Resources, Project: e.Project, Domain: e.Domain,
		Outcome: e.Outcome, Error: e.Error, Hash: hex.EncodeToString(e.Hash),
	})
	if err != nil {
		return nil, fmt.Errorf("encode audit event %d: %w", e.Sequence, err)
	}
	return line, nil
}

// Searcher finds events; store.Store is one.
type Searcher interface {
	SearchAudit(ctx context.Context, filter store.AuditFilter) ([]store.AuditEvent, error)
}

// exportPage is how many events are in memory at once.
const exportPage = 500

// Export calls each for the events that pass a filter, oldest first, a page at a time. Events that are added meanwhile are part of it.
func Export(ctx context.Context, from Searcher, filter store.AuditFilter, each func(store.AuditEvent) error) error {
	filter.OldestFirst, filter.Limit = true, exportPage
	for {
		page, err := from.SearchAudit(ctx, filter)
		if err != nil {
			return err
		}
		for _, event := range page {
			if err := each(event); err != nil {
				return err
			}
			filter.After = event.Sequence
		}
		if len(page) < exportPage {
			return nil
		}
	}
}
