// Package accounts keeps the local accounts of an installation: names and passwords, for trials and for the time before there is
// an identity provider.
package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/store"
)

// Admin is the account that the first start creates.
const Admin = "admin"

// MinPassword is the least number of bytes of a password.
const MinPassword = 8

// lockout slows guessing down: after five wrong passwords, half a minute, then twice as long each time.
var lockout = store.Lockout{After: 5, First: 30 * time.Second, Longest: 15 * time.Minute}

// ErrRefused is the answer to a wrong name or password and to a locked account. It does not say which: the names of
// accounts are not public.
var ErrRefused = errors.New("The name or the password is wrong. After five wrong passwords an account is locked for a while.") //nolint:staticcheck // people read it on a page

// Accounts checks passwords.
type Accounts struct {
	store *store.Store
	// prefix distinguishes the subjects of accounts from those of identity providers.
	prefix string
	// slots bounds the hashes that are computed at once, and with them the memory that anonymous requests can take.
	slots chan struct{}
	// absent is compared when there is no account, so that the time of an answer does not tell.
	absent string
}

// New returns the accounts of a store. Their subjects are their names with the prefix.
func New(s *store.Store, prefix string) *Accounts {
	const atOnce = 4
	return &Accounts{store: s, prefix: prefix, slots: make(chan struct{}, atOnce), absent: hash("")}
}

// Bootstrap creates the first account, of the administrator, if there is none.
func (a *Accounts) Bootstrap(ctx context.Context, password string) error {
	count, err := a.store.CountAccounts(ctx)
	if err != nil || count > 0 {
		return err
	}
	if password == "" {
		return errors.New("access.local.adminPassword: is required, since there is no account yet")
	}
	return a.Add(ctx, store.Account{Name: Admin, DisplayName: "Administrator"}, password)
}

// Add creates an account unless there is one of its name.
func (a *Accounts) Add(ctx context.Context, account store.Account, password string) error {
	if err := check(account.Name, password); err != nil {
		return err
	}
	account.Password = hash(password)
	return a.store.AddAccount(ctx, account)
}

func check(name, password string) error {
	if len(password) < MinPassword || len(password) > MaxPassword {
		return fmt.Errorf("the password of %s must have %d to %d bytes", name, MinPassword, MaxPassword)
	}
	return nil
}

// Subject is the subject of an account.
func (a *Accounts) Subject(name string) string { return a.prefix + name }

// SignIn returns the person whose name and password these are, or ErrRefused.
func (a *Accounts) SignIn(ctx context.Context, name, password string) (sessions.Person, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return sessions.Person{}, ctx.Err()
	}
	account, found, err := a.store.BeginAttempt(ctx, name, lockout)
	if err != nil {
		return sessions.Person{}, err
	}
	stored := account.Password
	if !found || len(password) > MaxPassword {
		stored, password = a.absent, "x"
	}
	right, err := matches(stored, password)
	if err != nil {
		return sessions.Person{}, fmt.Errorf("account %s: %w", name, err)
	}
	if !right {
		return sessions.Person{}, ErrRefused
	}
	switch found, err := a.store.EndAttempt(ctx, account); {
	case err != nil:
		return sessions.Person{}, err
	case !found:
		return sessions.Person{}, ErrRefused
	}
	return sessions.Person{
		Subject: a.Subject(account.Name), Name: cmp.Or(account.DisplayName, account.Name), Email: account.Email, Groups: account.Groups,
		Account: account.Name, Password: account.Password,
	}, nil
}
