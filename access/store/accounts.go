package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Account is a row of access_accounts.
type Account struct {
	Name, DisplayName, Email string
	Groups                   []string
	Password                 string // argon2id in the PHC string format
	CreatedAt                time.Time
	LockedUntil, RemovedAt   *time.Time
}

// Lockout says when wrong passwords lock an account, and for how long: First after After of them, doubled by each further one up
// to Longest.
type Lockout struct {
	After          int
	First, Longest time.Duration
}

// BeginAttempt counts an attempt to sign in as a wrong password and returns the account. found is false for an account that does
// not exist, was removed or is locked. EndAttempt follows when the password is right; an attempt that is counted before
// its password is checked cannot race with others.
func (s *Store) BeginAttempt(ctx context.Context, name string, lockout Lockout) (account Account, found bool, err error) {
	const begin = `UPDATE access_accounts SET failures = failures + 1, locked_until = CASE WHEN failures + 1 >= $3 THEN
			$2::timestamptz + least($4::float8 * 2 ^ least(failures + 1 - $3, 20), $5::float8) * interval '1 second' END
		WHERE name = $1 AND disabled_at IS NULL AND (locked_until IS NULL OR locked_until <= $2)
		RETURNING name, display_name, email, groups, password`
	err = s.pool.QueryRow(ctx, begin, name, s.clock.Now(), lockout.After, lockout.First.Seconds(), lockout.Longest.Seconds()).
		Scan(&account.Name, &account.DisplayName, &account.Email, &account.Groups, &account.Password)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return Account{}, false, nil
	case err != nil:
		return Account{}, false, fmt.Errorf("count an attempt to sign in as %s: %w", name, err)
	}
	return account, true, nil
}

// AddAccount stores an account unless there is one of its name.
func (s *Store) AddAccount(ctx context.Context, account Account) error {
	const insert = `INSERT INTO access_accounts (name, display_name, email, groups, password, created_at) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (name) DO NOTHING`
	groups := account.Groups
	if groups == nil {
		groups = []string{}
	}
	if _, err := s.pool.Exec(ctx, insert, account.Name, account.DisplayName, account.Email, groups, account.Password, s.clock.Now()); err != nil {
		return fmt.Errorf("store the account %s: %w", account.Name, err)
	}
	return nil
}

// CountAccounts counts the accounts.
func (s *Store) CountAccounts(ctx context.Context) (count int, err error) {
	if err := s.pool.QueryRow(ctx, `SELECT count(*) FROM access_accounts`).Scan(&count); err != nil {
		return 0, fmt.Errorf("count the accounts: %w", err)
	}
	return count, nil
}

// EndAttempt forgets the wrong passwords of an account, since a password was right. found is false if the account was removed, or got
// another password, since the attempt began.
func (s *Store) EndAttempt(ctx context.Context, account Account) (found bool, err error) {
	const end = `UPDATE access_accounts SET failures = 0, locked_until = NULL WHERE name = $1 AND password = $2 AND disabled_at IS NULL`
	tag, err := s.pool.Exec(ctx, end, account.Name, account.Password)
	if err != nil {
		return false, fmt.Errorf("end an attempt to sign in as %s: %w", account.Name, err)
	}
	return tag.RowsAffected() > 0, nil
}
