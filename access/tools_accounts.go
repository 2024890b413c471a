package access

import (
	"context"
	"errors"
	"fmt"

	"github.com/flyte-binary/flyte-binary/access/store"
)

// errNoAccounts is the error of an installation whose people sign in elsewhere.
var errNoAccounts = errors.New("this installation has no local accounts: access.local.enabled is false")

// Accounts are all local accounts, those that were removed too.
func (t *Tools) Accounts(ctx context.Context) ([]store.Account, error) {
	if !t.config.Local.Enabled {
		return nil, errNoAccounts
	}
	return t.people.List(ctx)
}

// AddAccount makes a local account.
func (t *Tools) AddAccount(ctx context.Context, account store.Account, password string) error {
	return t.changeAccount(ctx, "account.create", account.Name, func(ctx context.Context) error { return t.people.Create(ctx, account, password) })
}

// RemoveAccount ends a local account with its sessions, keys and bindings.
func (t *Tools) RemoveAccount(ctx context.Context, name string) error {
	return t.changeAccount(ctx, "account.delete", name, func(ctx context.Context) error { return t.people.Remove(ctx, name) })
}

// SetPassword replaces the password of a local account, and ends its sessions.
func (t *Tools) SetPassword(ctx context.Context, name, password string) error {
	return t.changeAccount(ctx, "account.update", name, func(ctx context.Context) error { return t.people.SetPassword(ctx, name, password, "") })
}

// SetGroups replaces the groups of a local account.
func (t *Tools) SetGroups(ctx context.Context, name string, groups []string) error {
	return t.changeAccount(ctx, "account.update", name, func(ctx context.Context) error { return t.people.SetGroups(ctx, name, groups) })
}

// UnlockAccount forgets the wrong passwords of a local account.
func (t *Tools) UnlockAccount(ctx context.Context, name string) error {
	return t.changeAccount(ctx, "account.update", name, func(ctx context.Context) error { return t.people.Unlock(ctx, name) })
}

// EndSessions signs a person out everywhere, and revokes the keys of that person if keys is set.
func (t *Tools) EndSessions(ctx context.Context, subject string, keys bool) (ended, revoked int64, err error) {
	err = t.Change(ctx, "account.update", []string{"person " + subject}, func(ctx context.Context) ([]string, error) {
		ended, revoked, err = t.store.EndSessionsOf(ctx, subject, keys)
		return nil, err
	})
	return ended, revoked, err
}

func (t *Tools) changeAccount(ctx context.Context, permission, name string, change func(context.Context) error) error {
	if !t.config.Local.Enabled {
		return errNoAccounts
	}
	err := t.Change(ctx, permission, []string{"account " + name}, func(ctx context.Context) ([]string, error) { return nil, change(ctx) })
	switch {
	case errors.Is(err, store.ErrNone):
		return fmt.Errorf("there is no account %s", name)
	case errors.Is(err, store.ErrExists):
		return fmt.Errorf("there is an account %s", name)
	}
	return err
}
