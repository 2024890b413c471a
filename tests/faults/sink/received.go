package sink

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// Where requests go. What is sent to gonePath is refused forever.
const (
	notePath  = "/notify/"
	gonePath  = "/gone"
	eventPath = "/events"
)

// NoteURL is where notifications of a rule go.
func (s *Server) NoteURL(rule string) string { return s.url + notePath + rule }

// GoneURL is a receiver that refuses every notification.
func (s *Server) GoneURL() string { return s.url + gonePath }

// EventURL is where events go.
func (s *Server) EventURL() string { return s.url + eventPath }

// NoteBody is the template of the body of a notification about the end of a run, and PausedBody of one about an action
// that waits.
const (
	NoteBody   = `{"run": "{{.Run.Name}}", "phase": "{{.Phase}}"}`
	PausedBody = `{"run": "{{.Action.Run.Name}}", "phase": "{{.Phase}}", "action": "{{.Action.Name}}"}`
)

// Note is a notification that was taken.
type Note struct {
	ID     string `json:"-"` // by which its receiver tells repetitions
	Rule   string `json:"-"`
	Run    string `json:"run"`
	Phase  string `json:"phase"`
	Action string `json:"action"` // empty for the end of a run
}

// Change is an event that was taken.
type Change struct {
	ID       string `json:"-"`
	Run      string `json:"run"`
	Action   string `json:"action"`
	Attempt  int32  `json:"attempt"`
	Phase    string `json:"phase"`
	Version  int32  `json:"version"`
	Sequence int64  `json:"sequence"`
}

func (s *Server) takeNote(r *http.Request, body []byte) error {
	note := Note{ID: r.Header.Get("Idempotency-Key"), Rule: r.PathValue("rule")}
	if err := json.Unmarshal(body, &note); err != nil {
		return fmt.Errorf("a notification cannot be read: %w", err)
	}
	s.keep(note)
	return nil
}

func (s *Server) keep(note Note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes[note.Run] = append(s.notes[note.Run], note)
}

// Audited is an audit event that was taken.
type Audited struct {
	Sequence int64  `json:"sequence"`
	Hash     string `json:"hash"`
}

// auditType is the type of audit events.
const auditType = "org.flyte.audit"

func (s *Server) takeEvent(_ *http.Request, body []byte) error {
	var event struct {
		ID   string          `json:"id"`
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return fmt.Errorf("an event cannot be read: %w", err)
	}
	if event.Type == auditType {
		return s.takeAudited(event.Data)
	}
	return s.takeChange(event.ID, event.Data)
}

func (s *Server) takeAudited(body []byte) error {
	var audited Audited
	if err := json.Unmarshal(body, &audited); err != nil {
		return fmt.Errorf("an audit event cannot be read: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audited = append(s.audited, audited)
	return nil
}

func (s *Server) takeChange(id string, body []byte) error {
	change := Change{ID: id}
	if err := json.Unmarshal(body, &change); err != nil {
		return fmt.Errorf("an event cannot be read: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[change.Run] = append(s.events[change.Run], change)
	return nil
}

// Notes are the notifications about a run, repetitions too.
func (s *Server) Notes(run string) []Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes[run])
}

// Changes are the events of a run in the order of their arrival, repetitions too.
func (s *Server) Changes(run string) []Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events[run])
}

// Audited are the audit events in the order of their arrival, repetitions too.
func (s *Server) Audited() []Audited {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.audited)
}

// Forget drops everything that was taken, except the last audit event: the next one follows it.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.notes)
	clear(s.events)
	s.audited = s.audited[max(0, len(s.audited)-1):]
}
