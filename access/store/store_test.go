package store_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

func user(name string) store.Member { return store.Member{Kind: store.UserMember, Name: name} }

func TestRolesAndBindings(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	version := func() int64 {
		v, err := s.PolicyVersion(t.Context())
		require.NoError(t, err)
		return v
	}
	before := version()
	require.NoError(t, s.PutRole(t.Context(), store.Role{Name: "auditor", Permissions: []string{"*.view"}}))
	require.Equal(t, before+1, version(), "each change grows the version")
	_, err := s.CreateBinding(t.Context(), store.Binding{Member: user("ada"), Role: "king"}, false)
	require.ErrorIs(t, err, store.ErrNone)
	require.Equal(t, before+1, version(), "what fails is no change")
	made, err := s.CreateBinding(t.Context(), store.Binding{Member: user("ada"), Role: "auditor", Project: "p"}, false)
	require.NoError(t, err)
	require.ErrorIs(t, s.DeleteRole(t.Context(), "auditor"), store.ErrBound)
	require.ErrorIs(t, s.DeleteBinding(t.Context(), made.ID, "q", ""), store.ErrNone, "in another scope than the caller was asked about")
	require.ErrorIs(t, s.DeleteBinding(t.Context(), "1; DROP", "p", ""), store.ErrNone)
	require.NoError(t, s.DeleteBinding(t.Context(), made.ID, "p", ""))
	require.NoError(t, s.DeleteRole(t.Context(), "auditor"))
	require.ErrorIs(t, s.DeleteRole(t.Context(), "auditor"), store.ErrNone)
}

func TestBindingsAreListedAndNarrowed(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	for _, place := range []authz.Place{{}, {Project: "p"}, {Project: "p", Domain: "d"}, {Project: "q"}, {Domain: "d"}} {
		_, err := s.CreateBinding(t.Context(), store.Binding{Member: user("ada"), Role: "viewer", Project: place.Project, Domain: place.Domain}, true)
		require.NoError(t, err)
	}
	list := func(scope authz.Scope, filter store.BindingFilter) (places []string) {
		filter.Limit = 100
		found, err := s.ListBindings(authz.WithScope(t.Context(), scope), filter)
		require.NoError(t, err)
		for _, b := range found {
			places = append(places, b.Project+"/"+b.Domain)
		}
		return places
	}
	all := authz.Everything()
	require.Equal(t, []string{"/", "p/", "p/d", "q/", "/d"}, list(all, store.BindingFilter{}))
	require.Equal(t, []string{"/", "p/", "p/d", "/d"}, list(all, store.BindingFilter{Scoped: true, Project: "p", Domain: "d"}), "what reaches the place")
	require.Empty(t, list(all, store.BindingFilter{Member: user("bob")}))
	require.Equal(t, []string{"p/", "p/d"}, list(authz.Scope{Places: []authz.Place{{Project: "p"}}}, store.BindingFilter{}))
	require.Equal(t, []string{"p/d", "/d"}, list(authz.Scope{Places: []authz.Place{{Domain: "d"}}}, store.BindingFilter{}))
	require.Empty(t, list(authz.Scope{}, store.BindingFilter{}))
}

// BenchmarkBindings reads what a caller with twenty groups has among a million bindings in 10,000 projects, as happens once after each
// change of the policy. It reports the 99th percentile.
func BenchmarkBindings(b *testing.B) {
	pool := pgtest.Schemas(b, store.Schema())
	s := store.New(pool, clock.System{})
	_, err := pool.Exec(b.Context(), `INSERT INTO access_bindings (kind, member, role, project, domain, created_by, created_at)
		SELECT CASE WHEN n % 5 = 0 THEN 'group' ELSE 'user' END, 'member-' || n % 50000, 'viewer', 'project-' || n / 100, '', 'root', now()
		FROM generate_series(0, 999999) AS n`)
	require.NoError(b, err)
	_, err = pool.Exec(b.Context(), `ANALYZE access_bindings`)
	require.NoError(b, err)
	members := []store.Member{user("member-1")}
	for i := range 20 {
		members = append(members, store.Member{Kind: store.GroupMember, Name: fmt.Sprint("member-", 5*i)})
	}
	var took []time.Duration
	var found []store.Binding
	for b.Loop() {
		began := time.Now()
		found, err = s.BindingsOf(b.Context(), members)
		require.NoError(b, err)
		took = append(took, time.Since(began))
	}
	require.NotEmpty(b, found)
	slices.Sort(took)
	b.ReportMetric(float64(len(found)), "bindings")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// TestTheGroupsOfAnOwner are those of the last sign-in. A sign-in that changes nothing is not a change of the policy.
func TestTheGroupsOfAnOwner(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	for i, key := range []store.Key{
		{ID: "own", Owner: "ada", OwnerGroups: []string{"a", "b"}}, {ID: "service", Owner: "ada", Service: true}, {ID: "other", Owner: "bob"},
	} {
		key.CreatedAt = time.Now()
		require.NoError(t, s.CreateKey(t.Context(), key, []byte{byte(i)}, nil, nil))
	}
	owner := func(id string) store.KeyOwner {
		found, err := s.OwnerOf(t.Context(), id)
		require.NoError(t, err)
		return found
	}
	signIn := func(changes int64, groups ...string) {
		t.Helper()
		before, err := s.PolicyVersion(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.OwnerSignedIn(t.Context(), "ada", groups))
		after, err := s.PolicyVersion(t.Context())
		require.NoError(t, err)
		require.Equal(t, changes, after-before)
	}
	require.Equal(t, store.KeyOwner{Subject: "ada", Groups: []string{"a", "b"}}, owner("own"))
	signIn(0, "b", "a", "b")
	signIn(1, "b")
	require.Equal(t, []string{"b"}, owner("own").Groups)
	require.Empty(t, owner("service").Groups)
	require.Empty(t, owner("other").Groups)
	signIn(1)
	signIn(0)
	require.Empty(t, owner("own").Groups)
	require.Equal(t, store.KeyOwner{}, owner("none"), "an owner who may do nothing")
}

// TestASignInRacesWithTheEndOfItsAccount: whichever is first, no session is left.
func TestASignInRacesWithTheEndOfItsAccount(t *testing.T) {
	s := store.New(pgtest.Schemas(t, store.Schema()), clock.System{})
	now := time.Now()
	for i := range 50 {
		name := fmt.Sprint("account-", i)
		require.NoError(t, s.CreateAccount(t.Context(), store.Account{Name: name, Password: "hash"}))
		require.ErrorIs(t, s.CreateAccount(t.Context(), store.Account{Name: name, Password: "hash"}), store.ErrExists)
		var both sync.WaitGroup
		both.Go(func() {
			_, _ = s.AddSession(t.Context(), store.Session{ // it may be late
				ID: name, Token: []byte(name), Client: "console", Subject: name, Person: []byte("{}"), Account: name, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(time.Hour),
			})
		})
		both.Go(func() {
			if err := s.RemoveAccount(t.Context(), name, name); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		_, found, err := s.SessionByID(t.Context(), name)
		require.NoError(t, err)
		require.False(t, found)
	}
	_, err := s.AddSession(t.Context(), store.Session{ID: "late", Token: []byte("late"), Account: "account-1", CreatedAt: now, SeenAt: now, ExpiresAt: now})
	require.ErrorIs(t, err, store.ErrNone)
	_, err = s.AddSession(t.Context(), store.Session{ID: "of a provider", Token: []byte("p"), Person: []byte("{}"), CreatedAt: now, SeenAt: now, ExpiresAt: now})
	require.NoError(t, err)
	require.NoError(t, s.AddAccount(t.Context(), store.Account{Name: "account-1", Password: "from the configuration"}))
	require.ErrorIs(t, s.UnlockAccount(t.Context(), "account-1"), store.ErrNone, "a start does not make it again")
}
