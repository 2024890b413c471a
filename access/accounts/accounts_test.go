package accounts_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/accounts"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

const password = "correct horse"

func fixture(t *testing.T) (*accounts.Accounts, *clock.Fake) {
	t.Helper()
	now := clock.NewFake(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	return accounts.New(store.New(pgtest.Schemas(t, store.Schema()), now), ""), now
}

// TestTheFirstAccount is made once, with a password that is long enough.
func TestTheFirstAccount(t *testing.T) {
	a, _ := fixture(t)
	require.ErrorContains(t, a.Bootstrap(t.Context(), ""), "access.local.adminPassword: is required")
	require.ErrorContains(t, a.Bootstrap(t.Context(), "short"), "must have 8 to 1024 bytes")
	require.NoError(t, a.Bootstrap(t.Context(), password))
	require.NoError(t, a.Bootstrap(t.Context(), "another password"), "there is one")
	person, err := a.SignIn(t.Context(), accounts.Admin, password)
	require.NoError(t, err)
	require.Equal(t, "admin", person.Subject)
	_, err = a.SignIn(t.Context(), accounts.Admin, "another password")
	require.ErrorIs(t, err, accounts.ErrRefused)
	require.NoError(t, a.Add(t.Context(), store.Account{Name: accounts.Admin}, "another password"))
	_, err = a.SignIn(t.Context(), accounts.Admin, password)
	require.NoError(t, err, "an account that exists is not changed")
	_, err = a.SignIn(t.Context(), "eve", password)
	require.ErrorIs(t, err, accounts.ErrRefused, "the same answer as to a wrong password")
	_, err = a.SignIn(t.Context(), "eve", "")
	require.ErrorIs(t, err, accounts.ErrRefused)
}

// TestGuessingLocks refuses even the right password for a while, each time longer, however many guess at once.
func TestGuessingLocks(t *testing.T) {
	a, now := fixture(t)
	require.NoError(t, a.Bootstrap(t.Context(), password))
	try := func(guess string) error {
		_, err := a.SignIn(t.Context(), accounts.Admin, guess)
		return err
	}
	for range 4 {
		require.ErrorIs(t, try("wrong guess"), accounts.ErrRefused)
	}
	require.NoError(t, try(password), "four wrong ones do not lock, and are forgotten")
	var guesses sync.WaitGroup
	for range 20 {
		guesses.Go(func() { _ = try("wrong guess") })
	}
	guesses.Wait()
	require.ErrorIs(t, try(password), accounts.ErrRefused, "locked")
	now.Step(29 * time.Second)
	require.ErrorIs(t, try(password), accounts.ErrRefused)
	now.Step(2 * time.Second)
	require.ErrorIs(t, try("wrong guess"), accounts.ErrRefused)
	now.Step(31 * time.Second)
	require.ErrorIs(t, try(password), accounts.ErrRefused, "the second lock takes twice as long")
	now.Step(30 * time.Second)
	require.NoError(t, try(password))
	for range 40 {
		require.ErrorIs(t, try("wrong guess"), accounts.ErrRefused)
		now.Step(15*time.Minute + time.Second)
	}
	require.NoError(t, try(password), "the longest lock takes a quarter of an hour")
}
