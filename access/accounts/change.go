package accounts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/access/store"
)

// List are all accounts in alphabetical order, those that were removed too.
func (a *Accounts) List(ctx context.Context) ([]store.Account, error) {
	return a.store.ListAccounts(ctx)
}

// Create makes an account, also one with the name of an account that was removed. It fails with store.ErrExists.
func (a *Accounts) Create(ctx context.Context, account store.Account, password string) error {
	if account.Name == "" || strings.ContainsAny(account.Name, "| \t\r\n") {
		return fmt.Errorf("the name of an account must not be empty and has no spaces and no |, got %q", account.Name)
	}
	if err := check(account.Name, password); err != nil {
		return err
	}
	account.Password = hash(password)
	return a.store.CreateAccount(ctx, account)
}

// Update replaces what is known of an account but its password. It fails with store.ErrNone.
func (a *Accounts) Update(ctx context.Context, account store.Account) error {
	return a.store.UpdateAccount(ctx, account, a.Subject(account.Name))
}

// Remove ends an account with its sessions, keys and bindings. It fails with store.ErrNone.
func (a *Accounts) Remove(ctx context.Context, name string) error {
	return a.store.RemoveAccount(ctx, name, a.Subject(name))
}

// SetPassword replaces the password of an account, unlocks it, and ends its sessions but the one with the id keep. It fails with
// store.ErrNone.
func (a *Accounts) SetPassword(ctx context.Context, name, password, keep string) error {
	if err := check(name, password); err != nil {
		return err
	}
	return a.store.SetPassword(ctx, name, hash(password), a.Subject(name), keep)
}

// SetGroups replaces the groups of an account. Its open sessions have them within sessions.Fresh. It fails with store.ErrNone.
func (a *Accounts) SetGroups(ctx context.Context, name string, groups []string) error {
	return a.store.SetGroups(ctx, name, slices.Compact(slices.Sorted(slices.Values(groups))), a.Subject(name))
}

// Unlock forgets the wrong passwords of an account. It fails with store.ErrNone.
func (a *Accounts) Unlock(ctx context.Context, name string) error {
	return a.store.UnlockAccount(ctx, name)
}
