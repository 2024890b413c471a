package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Session is a row of access_sessions.
type Session struct {
	ID      string
	Token   []byte // the hash
	Client  string
	Subject string
	Person  []byte // JSON
	// Account is the local account of the person, which must exist; empty for people of providers.
	Account string

	CreatedAt, SeenAt, ExpiresAt time.Time
}

const sessionColumns = `id, token, client, subject, person, created_at, seen_at, expires_at`

// AddSession stores a new session. It fails with ErrNone if the account of the person was removed. The lock of the account's row lets a
// removal wait until it can end this session too.
func (s *Store) AddSession(ctx context.Context, session Session) error {
	const insert = `WITH account AS (SELECT FROM access_accounts WHERE name = $9 AND disabled_at IS NULL FOR SHARE)
		INSERT INTO access_sessions (` + sessionColumns + `) SELECT $1, $2::bytea, $3, $4, $5::bytea, $6::timestamptz, $7::timestamptz, $8::timestamptz
		WHERE $9 = '' OR EXISTS (SELECT FROM account)`
	tag, err := s.pool.Exec(ctx, insert, session.ID, session.Token, session.Client, session.Subject, session.Person,
		session.CreatedAt, session.SeenAt, session.ExpiresAt, session.Account)
	if err != nil {
		return fmt.Errorf("store a session: %w", err)
	}
	return when(tag.RowsAffected() == 0, ErrNone)
}

// SessionByToken reads the session with the hash of a token. found is false if there is none.
func (s *Store) SessionByToken(ctx context.Context, token []byte) (session Session, found bool, err error) {
	return s.session(ctx, `SELECT `+sessionColumns+` FROM access_sessions WHERE token = $1`, token)
}

// SessionByID reads a session by its id. found is false if there is none.
func (s *Store) SessionByID(ctx context.Context, id string) (session Session, found bool, err error) {
	return s.session(ctx, `SELECT `+sessionColumns+` FROM access_sessions WHERE id = $1`, id)
}

func (s *Store) session(ctx context.Context, query string, key any) (session Session, found bool, err error) {
	err = s.pool.QueryRow(ctx, query, key).Scan(&session.ID, &session.Token, &session.Client, &session.Subject, &session.Person,
		&session.CreatedAt, &session.SeenAt, &session.ExpiresAt)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Session{}, false, nil
	case err != nil:
		return Session{}, false, fmt.Errorf("read a session: %w", err)
	}
	return session, true, nil
}

// SeeSession notes that a session was used now.
func (s *Store) SeeSession(ctx context.Context, id string) error {
	if _, err := s.pool.Exec(ctx, `UPDATE access_sessions SET seen_at = $2 WHERE id = $1`, id, s.clock.Now()); err != nil {
		return fmt.Errorf("note the use of a session: %w", err)
	}
	return nil
}

// EndSession deletes a session. One that does not exist has ended already.
func (s *Store) EndSession(ctx context.Context, id string) error {
	if _, err := s.pool.Exec(ctx, `DELETE FROM access_sessions WHERE id = $1`, id); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// DeleteExpired deletes sessions that have expired or were idle since before idleSince, and expired grants.
func (s *Store) DeleteExpired(ctx context.Context, idleSince time.Time) error {
	now := s.clock.Now()
	if _, err := s.pool.Exec(ctx, `DELETE FROM access_sessions WHERE expires_at <= $1 OR seen_at <= $2`, now, idleSince); err != nil {
		return fmt.Errorf("delete sessions that have expired: %w", err)
	}
	if _, err := s.pool.Exec(ctx, `DELETE FROM access_grants WHERE expires_at <= $1`, now); err != nil {
		return fmt.Errorf("delete grants that have expired: %w", err)
	}
	return nil
}
