package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
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
	// Password is the hash that the account had when the person gave its password, with the groups that it had; it must have both still. Empty
	// without a password.
	Password string
	Groups   []string
	// ApprovedBy is the session of the browser that let this one begin; empty for those of browsers.
	ApprovedBy string

	CreatedAt, SeenAt, ExpiresAt time.Time
}

const sessionColumns = `id, token, client, subject, person, created_at, seen_at, expires_at, approved_by`

// ErrEnded says that the session in which something was to be done has ended.
var ErrEnded = errors.New("the session has ended")

// AddSession stores a new session and returns when it expires: no later than the one that approved it. It fails with ErrNone if the account of the person was
// removed or has another password, and with ErrEnded if the approving session has ended. The locks of both rows let the end of either wait until it can end
// this session too.
func (s *Store) AddSession(ctx context.Context, session Session) (expires time.Time, err error) {
	expires = session.ExpiresAt
	err = pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		if err := holdAccount(ctx, tx, session); err != nil {
			return err
		}
		if session.ApprovedBy != "" {
			end, err := s.holdSession(ctx, tx, session.ApprovedBy)
			if err != nil {
				return err
			}
			if end.Before(expires) {
				expires = end
			}
			// The person as known now: the groups may have changed since the approval. The ID token is for browsers, which sign out at the provider too.
			const person = `SELECT convert_to((convert_from(person, 'UTF8')::jsonb - 'id_token')::text, 'UTF8') FROM access_sessions WHERE id = $1`
			if err := tx.QueryRow(ctx, person, session.ApprovedBy).Scan(&session.Person); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO access_sessions (`+sessionColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			session.ID, session.Token, session.Client, session.Subject, session.Person, session.CreatedAt, session.SeenAt, expires, session.ApprovedBy)
		return err
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("store a session: %w", err)
	}
	return expires, nil
}

// RenewSession gives a session that lasts another token and another beginning, because its person signed in again. What the session has
// approved stays. It fails with ErrNone if the account of the person was removed, and with ErrEnded if the session has ended, or is that of
// another person.
func (s *Store) RenewSession(ctx context.Context, session Session) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		if err := holdAccount(ctx, tx, session); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `UPDATE access_sessions SET token = $4, person = $5, created_at = $6, seen_at = $7, expires_at = $8
			WHERE id = $1 AND client = $2 AND subject = $3 AND expires_at > $6`,
			session.ID, session.Client, session.Subject, session.Token, session.Person, session.CreatedAt, session.SeenAt, session.ExpiresAt)
		return errors.Join(err, when(err == nil && tag.RowsAffected() == 0, ErrEnded))
	})
	if err != nil {
		return fmt.Errorf("renew a session: %w", err)
	}
	return nil
}

// holdAccount keeps the account of a session as it is until the end of the transaction. It fails with ErrNone if the account was removed, or has
// got another password or other groups. People of providers have none.
func holdAccount(ctx context.Context, tx pgx.Tx, session Session) error {
	if session.Account == "" {
		return nil
	}
	const hold = `SELECT FROM access_accounts WHERE name = $1 AND disabled_at IS NULL AND ($2 = '' OR password = $2 AND groups = coalesce($3::text[], '{}')) FOR SHARE`
	tag, err := tx.Exec(ctx, hold, session.Account, session.Password, session.Groups)
	return errors.Join(err, when(err == nil && tag.RowsAffected() == 0, ErrNone))
}

// holdSession keeps a session from being ended before the end of the transaction, and returns when it expires. It fails with ErrEnded.
func (s *Store) holdSession(ctx context.Context, tx pgx.Tx, id string) (end time.Time, err error) {
	const hold = `SELECT expires_at FROM access_sessions WHERE id = $1 AND expires_at > $2 FOR KEY SHARE`
	err = tx.QueryRow(ctx, hold, id, s.clock.Now()).Scan(&end)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, ErrEnded
	}
	return end, err
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
		&session.CreatedAt, &session.SeenAt, &session.ExpiresAt, &session.ApprovedBy)
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

// EndSession deletes a session and those that it approved. One that does not exist has ended already.
func (s *Store) EndSession(ctx context.Context, id string) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		// Two statements: the first waits for what the session approves now, and the second sees it.
		if _, err := tx.Exec(ctx, `DELETE FROM access_sessions WHERE id = $1`, id); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM access_sessions WHERE approved_by = $1`, id)
		return err
	})
	if err != nil {
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
