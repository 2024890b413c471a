package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// An account that was removed stays as a row with disabled_at, without a password: otherwise the next start would make it again if the
// configuration names it.

// ErrExists says that there is one already.
var ErrExists = errors.New("there is one already")

// ListAccounts are all accounts in alphabetical order, those that were removed too, without passwords.
func (s *Store) ListAccounts(ctx context.Context) ([]Account, error) {
	rows, err := s.pool.Query(ctx, `SELECT name, display_name, email, groups, created_at, locked_until, disabled_at FROM access_accounts ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list the accounts: %w", err)
	}
	accounts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (a Account, err error) {
		return a, row.Scan(&a.Name, &a.DisplayName, &a.Email, &a.Groups, &a.CreatedAt, &a.LockedUntil, &a.RemovedAt)
	})
	if err != nil {
		return nil, fmt.Errorf("list the accounts: %w", err)
	}
	return accounts, nil
}

// CreateAccount stores a new account, in place of a removed one of its name. It fails with ErrExists.
func (s *Store) CreateAccount(ctx context.Context, account Account) error {
	const insert = `INSERT INTO access_accounts (name, display_name, email, groups, password, created_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (name) DO UPDATE SET display_name = excluded.display_name, email = excluded.email, groups = excluded.groups,
			password = excluded.password, created_at = excluded.created_at, failures = 0, locked_until = NULL, disabled_at = NULL
		WHERE access_accounts.disabled_at IS NOT NULL`
	groups := account.Groups
	if groups == nil {
		groups = []string{}
	}
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, insert, account.Name, account.DisplayName, account.Email, groups, account.Password, s.clock.Now())
		return errors.Join(err, when(err == nil && tag.RowsAffected() == 0, ErrExists))
	})
	if err != nil {
		return fmt.Errorf("store the account %s: %w", account.Name, err)
	}
	return nil
}

// RemoveAccount ends an account with everything that its subject has: sessions, keys and bindings. It fails with ErrNone.
func (s *Store) RemoveAccount(ctx context.Context, name, subject string) error {
	err := s.changePolicy(ctx, func(tx pgx.Tx) error {
		// First the account: a session that is begun meanwhile either waits for this lock or is deleted below.
		const remove = `UPDATE access_accounts SET disabled_at = $2, password = '' WHERE name = $1 AND disabled_at IS NULL`
		tag, err := tx.Exec(ctx, remove, name, s.clock.Now())
		if err != nil || tag.RowsAffected() == 0 {
			return errors.Join(err, when(err == nil, ErrNone))
		}
		if _, err := tx.Exec(ctx, `DELETE FROM access_sessions WHERE subject = $1`, subject); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM access_bindings WHERE kind = 'user' AND member = $1`, subject); err != nil {
			return err
		}
		_, err = s.revokeKeysOf(ctx, tx, subject)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove the account %s: %w", name, err)
	}
	return nil
}

// SetPassword replaces the password of an account, unlocks it, and ends the sessions of its subject but the one with the id keep. It
// fails with ErrNone.
func (s *Store) SetPassword(ctx context.Context, name, password, subject, keep string) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		const set = `UPDATE access_accounts SET password = $2, failures = 0, locked_until = NULL WHERE name = $1 AND disabled_at IS NULL`
		tag, err := tx.Exec(ctx, set, name, password)
		if err != nil || tag.RowsAffected() == 0 {
			return errors.Join(err, when(err == nil, ErrNone))
		}
		_, err = tx.Exec(ctx, `DELETE FROM access_sessions WHERE subject = $1 AND id <> $2`, subject, keep)
		return err
	})
	if err != nil {
		return fmt.Errorf("replace the password of %s: %w", name, err)
	}
	return nil
}

// SetGroups replaces the groups of an account, also in its sessions and for its API keys, so that roles of groups hold at once. It fails with
// ErrNone.
func (s *Store) SetGroups(ctx context.Context, name string, groups []string, subject string) error {
	if groups == nil {
		groups = []string{}
	}
	err := s.changePolicy(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE access_accounts SET groups = $2 WHERE name = $1 AND disabled_at IS NULL`, name, groups)
		if err != nil || tag.RowsAffected() == 0 {
			return errors.Join(err, when(err == nil, ErrNone))
		}
		const sessions = `UPDATE access_sessions SET person = convert_to((convert_from(person, 'UTF8')::jsonb
			|| jsonb_build_object('groups', to_jsonb($2::text[])))::text, 'UTF8') WHERE subject = $1`
		if _, err := tx.Exec(ctx, sessions, subject, groups); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE access_keys SET owner_groups = $2 WHERE owner = $1 AND NOT service AND revoked_at IS NULL`, subject, groups)
		return err
	})
	if err != nil {
		return fmt.Errorf("replace the groups of %s: %w", name, err)
	}
	return nil
}

// UnlockAccount forgets the wrong passwords of an account. It fails with ErrNone.
func (s *Store) UnlockAccount(ctx context.Context, name string) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE access_accounts SET failures = 0, locked_until = NULL WHERE name = $1 AND disabled_at IS NULL`, name)
		return errors.Join(err, when(err == nil && tag.RowsAffected() == 0, ErrNone))
	})
	if err != nil {
		return fmt.Errorf("unlock the account %s: %w", name, err)
	}
	return nil
}

// EndSessionsOf deletes every session of a subject, and revokes the subject's keys if keys is set. It returns how many there were.
func (s *Store) EndSessionsOf(ctx context.Context, subject string, keys bool) (sessions, revoked int64, err error) {
	err = s.changePolicy(ctx, func(tx pgx.Tx) error {
		// Two statements: the first waits for what the sessions approve now, and the second sees it.
		if _, err := tx.Exec(ctx, `SELECT FROM access_sessions WHERE subject = $1 ORDER BY id FOR UPDATE`, subject); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `DELETE FROM access_sessions WHERE subject = $1`, subject)
		if err != nil {
			return err
		}
		sessions = tag.RowsAffected()
		if keys {
			revoked, err = s.revokeKeysOf(ctx, tx, subject)
		}
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("end the sessions of %s: %w", subject, err)
	}
	return sessions, revoked, nil
}

// revokeKeysOf revokes the keys of a subject; those of services are not theirs.
func (s *Store) revokeKeysOf(ctx context.Context, tx pgx.Tx, subject string) (int64, error) {
	tag, err := tx.Exec(ctx, `UPDATE access_keys SET revoked_at = $2 WHERE owner = $1 AND NOT service AND revoked_at IS NULL`, subject, s.clock.Now())
	if err != nil {
		return 0, err
	}
	return tag.RowsAffected(), nil
}
