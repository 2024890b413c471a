package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// session is one that lasts for an hour.
func session(id, subject, approvedBy string) store.Session {
	now := time.Now()
	return store.Session{
		ID: id, Token: []byte(id), Client: "any", Subject: subject, Person: []byte("{}"), ApprovedBy: approvedBy,
		CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour),
	}
}

// ends are the ways in which the session of a browser is ended on purpose.
func ends(s *store.Store) map[string]func(ctx context.Context, id, subject string) error {
	return map[string]func(ctx context.Context, id, subject string) error{
		"sign-out": func(ctx context.Context, id, _ string) error { return s.EndSession(ctx, id) },
		"revoked": func(ctx context.Context, _, subject string) error {
			_, _, err := s.EndSessionsOf(ctx, subject, true)
			return err
		},
		"account removed": func(ctx context.Context, _, subject string) error { return s.RemoveAccount(ctx, subject, subject) },
		"password set": func(ctx context.Context, _, subject string) error {
			return s.SetPassword(ctx, subject, "hash", subject, "")
		},
	}
}

// race runs both at the same time.
func race(one, other func()) {
	var both sync.WaitGroup
	both.Go(one)
	both.Go(other)
	both.Wait()
}

// TestAnApprovalRacesWithTheEndOfItsSession: whichever is first, the client that a person let in has no session once that of the browser
// has ended.
func TestAnApprovalRacesWithTheEndOfItsSession(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	for how, end := range ends(s) {
		for i := range 30 {
			subject := fmt.Sprint(how, " ", i)
			browser, client := "browser of "+subject, "client of "+subject
			require.NoError(t, s.CreateAccount(t.Context(), store.Account{Name: subject, Password: "hash"}))
			approver := session(browser, subject, "")
			approver.Account = subject
			_, err := s.AddSession(t.Context(), approver)
			require.NoError(t, err)
			race(func() {
				approved := session(client, subject, browser)
				approved.Account = subject
				if _, err := s.AddSession(t.Context(), approved); err != nil && !errors.Is(err, store.ErrEnded) && !errors.Is(err, store.ErrNone) {
					t.Error(err)
				}
			}, func() {
				if err := end(t.Context(), browser, subject); err != nil {
					t.Error(err)
				}
			})
			_, found, err := s.SessionByID(t.Context(), client)
			require.NoError(t, err)
			require.False(t, found, "%s, round %d", how, i)
		}
	}
}

// TestAnApprovalEndsNoLaterThanItsSession: the groups of a person are those of the sign-in, which an approval must not make last longer.
func TestAnApprovalEndsNoLaterThanItsSession(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	browser := session("browser", "ada", "")
	browser.ExpiresAt = time.Now().Add(time.Minute).Truncate(time.Second)
	_, err := s.AddSession(t.Context(), browser)
	require.NoError(t, err)
	expires, err := s.AddSession(t.Context(), session("client", "ada", "browser"))
	require.NoError(t, err)
	require.True(t, browser.ExpiresAt.Equal(expires), "%s", expires)
	stored, found, err := s.SessionByID(t.Context(), "client")
	require.NoError(t, err)
	require.True(t, found)
	require.True(t, browser.ExpiresAt.Equal(stored.ExpiresAt), "%s", stored.ExpiresAt)
	_, err = s.AddSession(t.Context(), session("another client", "ada", "a browser that has gone"))
	require.ErrorIs(t, err, store.ErrEnded)
}

// TestASignInAgainKeepsWhatItApproved, in the same browser; that of another person, or after the end, does not.
func TestASignInAgainKeepsWhatItApproved(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	for _, one := range []store.Session{session("browser", "ada", ""), session("client", "ada", "browser")} {
		_, err := s.AddSession(t.Context(), one)
		require.NoError(t, err)
	}
	again := session("browser", "ada", "")
	again.Token = []byte("another")
	require.NoError(t, s.RenewSession(t.Context(), again))
	_, found, err := s.SessionByToken(t.Context(), []byte("browser"))
	require.NoError(t, err)
	require.False(t, found, "the token before is worth nothing")
	_, found, err = s.SessionByToken(t.Context(), []byte("another"))
	require.NoError(t, err)
	require.True(t, found)
	_, found, err = s.SessionByID(t.Context(), "client")
	require.NoError(t, err)
	require.True(t, found)
	require.ErrorIs(t, s.RenewSession(t.Context(), session("browser", "eve", "")), store.ErrEnded)
	require.NoError(t, s.EndSession(t.Context(), "browser"))
	require.ErrorIs(t, s.RenewSession(t.Context(), again), store.ErrEnded)
}

// TestASignInRacesWithItsPassword: a password that was replaced since it was checked begins no session.
func TestASignInRacesWithItsPassword(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	for i := range 30 {
		name := fmt.Sprint("account-", i)
		require.NoError(t, s.CreateAccount(t.Context(), store.Account{Name: name, Password: "old"}))
		race(func() {
			begun := session(name, name, "")
			begun.Account, begun.Password = name, "old"
			if _, err := s.AddSession(t.Context(), begun); err != nil && !errors.Is(err, store.ErrNone) { // it may be late
				t.Error(err)
			}
		}, func() {
			if err := s.SetPassword(t.Context(), name, "new", name, ""); err != nil {
				t.Error(err)
			}
		})
		_, found, err := s.SessionByID(t.Context(), name)
		require.NoError(t, err)
		require.False(t, found)
	}
}

// TestGroupsOfAnAccount: a person who signs in while they are replaced has the new ones, or no session; keys follow.
func TestGroupsOfAnAccount(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	for i := range 30 {
		name := fmt.Sprint("account-", i)
		require.NoError(t, s.CreateAccount(t.Context(), store.Account{Name: name, Password: "hash", Groups: []string{"operators"}}))
		require.NoError(t, s.CreateKey(t.Context(), store.Key{ID: name, Owner: name, OwnerGroups: []string{"operators"}, CreatedAt: time.Now()}, []byte(name), nil, nil))
		race(func() {
			begun := session(name, name, "")
			begun.Account, begun.Password, begun.Groups = name, "hash", []string{"operators"}
			if _, err := s.AddSession(t.Context(), begun); err != nil && !errors.Is(err, store.ErrNone) { // it may be late
				t.Error(err)
			}
		}, func() {
			if err := s.SetGroups(t.Context(), name, []string{"guests"}, name); err != nil {
				t.Error(err)
			}
		})
		begun, found, err := s.SessionByID(t.Context(), name)
		require.NoError(t, err)
		if found {
			require.JSONEq(t, `{"groups": ["guests"]}`, string(begun.Person))
		}
		owner, err := s.OwnerOf(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, []string{"guests"}, owner.Groups)
	}
	require.ErrorIs(t, s.SetGroups(t.Context(), "nobody", nil, "nobody"), store.ErrNone)
	none := session("in no group", "account-1", "")
	none.Account, none.Password = "account-1", "hash"
	_, err := s.AddSession(t.Context(), none)
	require.ErrorIs(t, err, store.ErrNone)
	require.NoError(t, s.SetGroups(t.Context(), "account-1", nil, "account-1"))
	_, err = s.AddSession(t.Context(), none)
	require.NoError(t, err)
}

// TestAnApprovalHasTheGroupsOfNow: not those that the person had when they approved the client.
func TestAnApprovalHasTheGroupsOfNow(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	change := map[string]func(name string) error{
		"by a command": func(name string) error { return s.SetGroups(t.Context(), name, []string{"guests"}, name) },
		"by a call": func(name string) error {
			return s.UpdateAccount(t.Context(), store.Account{Name: name, Groups: []string{"guests"}}, name)
		},
	}
	for how, change := range change {
		for i := range 20 {
			name := fmt.Sprint(how, " ", i)
			require.NoError(t, s.CreateAccount(t.Context(), store.Account{Name: name, Password: "hash", Groups: []string{"operators"}}))
			browser, client := session(name, name, ""), session("client of "+name, name, name)
			browser.Account, client.Account = name, name
			browser.Person = []byte(`{"groups": ["operators"], "id_token": "secret"}`)
			client.Person = []byte(`{"groups": ["operators"]}`)
			_, err := s.AddSession(t.Context(), browser)
			require.NoError(t, err)
			race(func() {
				if _, err := s.AddSession(t.Context(), client); err != nil {
					t.Error(err)
				}
			}, func() {
				if err := change(name); err != nil {
					t.Error(err)
				}
			})
			begun, found, err := s.SessionByID(t.Context(), client.ID)
			require.NoError(t, err)
			require.True(t, found)
			require.Contains(t, string(begun.Person), "guests")
			require.NotContains(t, string(begun.Person), "operators")
			require.NotContains(t, string(begun.Person), "secret")
		}
	}
}

// TestAKeyRacesWithTheEndOfItsSession: whichever is first, who was signed out with the keys, or removed, has no key that works. No key is
// made in a session that has ended.
func TestAKeyRacesWithTheEndOfItsSession(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	for _, how := range []string{"revoked", "account removed"} {
		for i := range 30 {
			subject := fmt.Sprint(how, " ", i)
			require.NoError(t, s.CreateAccount(t.Context(), store.Account{Name: subject, Password: "hash"}))
			_, err := s.AddSession(t.Context(), session(subject, subject, ""))
			require.NoError(t, err)
			made := store.Key{ID: subject, Owner: subject, Session: subject, CreatedAt: time.Now()}
			race(func() {
				if err := s.CreateKey(t.Context(), made, []byte(subject), nil, nil); err != nil && !errors.Is(err, store.ErrEnded) {
					t.Error(err)
				}
			}, func() {
				if err := ends(s)[how](t.Context(), subject, subject); err != nil {
					t.Error(err)
				}
			})
			key, err := s.Key(t.Context(), subject)
			require.True(t, errors.Is(err, store.ErrNone) || key.RevokedAt != nil, "%s, round %d: %v %+v", how, i, err, key)
		}
	}
	late := store.Key{ID: "late", Owner: "ada", Session: "a session that has gone", CreatedAt: time.Now()}
	require.ErrorIs(t, s.CreateKey(t.Context(), late, []byte("late"), nil, nil), store.ErrEnded)
	_, err := s.Key(t.Context(), "late")
	require.ErrorIs(t, err, store.ErrNone)
}
