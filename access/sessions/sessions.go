package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Fresh is how long an answer about a session is remembered: the end of a session holds everywhere within this time.
const Fresh = 5 * time.Second

// remembered bounds how many sessions are remembered.
const remembered = 10_000

// seenEvery is how exactly the last use of a session is known.
const seenEvery = time.Minute

// Session is a sign-in that lasts.
type Session struct {
	ID     string
	Client string
	Person Person
	// ApprovedBy is the session of the browser that let this one begin; empty for those of browsers.
	ApprovedBy string
	// ExpiresAt is when it ends in any case.
	ExpiresAt time.Time
}

// idPrefix begins the ids of sessions.
const idPrefix = "s_"

// IsID reports whether a text is the id of a session by its form.
func IsID(text string) bool { return strings.HasPrefix(text, idPrefix) }

// Lifetimes say when sessions end.
type Lifetimes struct {
	// Idle is after how long without use; Absolute after how long in any case.
	Idle, Absolute time.Duration
}

// Sessions begins, finds and ends sessions.
type Sessions struct {
	store     *store.Store
	clock     clock.Clock
	lifetimes Lifetimes
	cache     *lru.Cache[string, answer]
}

// answer is what was known of a session at a time. Those that do not exist are remembered too.
type answer struct {
	session Session
	found   bool
	at      time.Time
}

// New returns the sessions of a store.
func New(s *store.Store, clk clock.Clock, lifetimes Lifetimes) (*Sessions, error) {
	cache, err := lru.New[string, answer](remembered)
	if err != nil {
		return nil, fmt.Errorf("make the cache of sessions: %w", err)
	}
	return &Sessions{store: s, clock: clk, lifetimes: lifetimes, cache: cache}, nil
}

// NewID is an id for a session that is about to begin.
func NewID() string { return idPrefix + random()[:16] }

// Begin signs a person in at a client, in a session with an id of NewID. The token is not stored and cannot be read again. It fails with store.ErrNone if the local account of
// the person was removed, or has got another password.
func (s *Sessions) Begin(ctx context.Context, id, client string, person Person) (session Session, token string, err error) {
	return s.begin(ctx, id, client, person, "")
}

// BeginApproved is Begin for a client that a person let in from a browser. The session ends with that of the browser, whose id is approver: when
// the person signs out there, or is signed out. It fails with store.ErrEnded if that has happened.
func (s *Sessions) BeginApproved(ctx context.Context, client string, person Person, approver string) (session Session, token string, err error) {
	if approver == "" {
		return Session{}, "", store.ErrEnded
	}
	return s.begin(ctx, NewID(), client, person, approver)
}

func (s *Sessions) begin(ctx context.Context, id, client string, person Person, approver string) (Session, string, error) {
	row, token, err := s.row(id, client, person)
	if err != nil {
		return Session{}, "", err
	}
	row.ApprovedBy = approver
	if row.ExpiresAt, err = s.store.AddSession(ctx, row); err != nil {
		return Session{}, "", err
	}
	person.Password = ""
	return Session{ID: row.ID, Client: client, Person: person, ApprovedBy: approver, ExpiresAt: row.ExpiresAt}, token, nil
}

// row is a session that begins now, with its token.
func (s *Sessions) row(id, client string, person Person) (row store.Session, token string, err error) {
	body, err := json.Marshal(person)
	if err != nil {
		return store.Session{}, "", fmt.Errorf("encode a person: %w", err)
	}
	now := s.clock.Now()
	token = random() + random()
	return store.Session{
		ID: id, Token: hashed(token), Client: client, Subject: person.Subject, Person: body, Account: person.Account, Password: person.Password, Groups: person.Groups,
		CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(s.lifetimes.Absolute),
	}, token, nil
}

// Renew begins a session again, because its person signed in again where it is: it gets another token, and keeps its id and what it has
// approved. It fails as Begin does, and with store.ErrEnded if the session has ended or is of another person.
func (s *Sessions) Renew(ctx context.Context, session Session, person Person) (Session, string, error) {
	row, token, err := s.row(session.ID, session.Client, person)
	if err != nil {
		return Session{}, "", err
	}
	if err := s.store.RenewSession(ctx, row); err != nil {
		return Session{}, "", err
	}
	s.forget(func(known Session) bool { return known.ID == session.ID })
	person.Password = ""
	session.Person, session.ExpiresAt = person, row.ExpiresAt
	return session, token, nil
}

// ByToken is the session of a token. found is false if there is none, or it has ended.
func (s *Sessions) ByToken(ctx context.Context, token string) (session Session, found bool, err error) {
	hash := hashed(token)
	return s.recall(ctx, "t"+string(hash), true, func() (store.Session, bool, error) { return s.store.SessionByToken(ctx, hash) })
}

// ByID is the session with an id. found is false if there is none, or it has ended.
func (s *Sessions) ByID(ctx context.Context, id string) (session Session, found bool, err error) {
	return s.recall(ctx, "i"+id, true, func() (store.Session, bool, error) { return s.store.SessionByID(ctx, id) })
}

// Lasts reports whether a session has not ended. Unlike the others, it does not count as use.
func (s *Sessions) Lasts(ctx context.Context, id string) (bool, error) {
	_, found, err := s.recall(ctx, "i"+id, false, func() (store.Session, bool, error) { return s.store.SessionByID(ctx, id) })
	return found, err
}

// End ends a session and those that it approved: here at once, in other processes within Fresh.
func (s *Sessions) End(ctx context.Context, id string) error {
	if err := s.store.EndSession(ctx, id); err != nil {
		return err
	}
	s.forget(func(known Session) bool { return known.ID == id || known.ApprovedBy == id })
	return nil
}

// Forget reads the sessions of a subject again that were read before; in other processes this takes up to Fresh.
func (s *Sessions) Forget(subject string) {
	s.forget(func(known Session) bool { return known.Person.Subject == subject })
}

func (s *Sessions) forget(which func(Session) bool) {
	for _, key := range s.cache.Keys() {
		if known, ok := s.cache.Peek(key); ok && which(known.session) {
			s.cache.Remove(key)
		}
	}
}

// Sweep deletes what has expired.
func (s *Sessions) Sweep(ctx context.Context) error {
	return s.store.DeleteExpired(ctx, s.clock.Now().Add(-s.lifetimes.Idle))
}

// recall answers from memory, or by reading.
func (s *Sessions) recall(ctx context.Context, key string, use bool, read func() (store.Session, bool, error)) (Session, bool, error) {
	now := s.clock.Now()
	if known, ok := s.cache.Get(key); ok && now.Sub(known.at) < Fresh {
		return known.session, known.found && now.Before(known.session.ExpiresAt), nil
	}
	row, found, err := read()
	if err != nil {
		return Session{}, false, err
	}
	known := answer{at: now, found: found && now.Before(row.ExpiresAt) && now.Sub(row.SeenAt) < s.lifetimes.Idle}
	if known.found {
		known.session = Session{ID: row.ID, Client: row.Client, ApprovedBy: row.ApprovedBy, ExpiresAt: row.ExpiresAt}
		if err := json.Unmarshal(row.Person, &known.session.Person); err != nil {
			return Session{}, false, fmt.Errorf("decode the person of a session: %w", err)
		}
		if use && now.Sub(row.SeenAt) >= seenEvery {
			if err := s.store.SeeSession(ctx, row.ID); err != nil {
				return Session{}, false, err
			}
		}
	}
	s.cache.Add(key, known)
	return known.session, known.found, nil
}
