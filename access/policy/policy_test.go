package policy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// source is a policy in memory.
type source struct {
	mu        sync.Mutex
	version   int64                     // GUARDED_BY(mu)
	roles     []store.Role              // GUARDED_BY(mu)
	bindings  []store.Binding           // GUARDED_BY(mu)
	owners    map[string]store.KeyOwner // GUARDED_BY(mu)
	ownersErr error                     // GUARDED_BY(mu)
	err       error                     // GUARDED_BY(mu)
	reads     int                       // GUARDED_BY(mu): of bindings
}

func (s *source) PolicyVersion(context.Context) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version, s.err
}

func (s *source) Roles(context.Context) ([]store.Role, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roles, s.err
}

func (s *source) BindingsOf(_ context.Context, members []store.Member) (found []store.Binding, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	for _, b := range s.bindings {
		if slices.Contains(members, b.Member) {
			found = append(found, b)
		}
	}
	return found, s.err
}

func (s *source) OwnerOf(_ context.Context, id string) (store.KeyOwner, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owners[id], s.ownersErr
}

func (s *source) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	change()
}

func user(name string) store.Member { return store.Member{Kind: store.UserMember, Name: name} }

// fixture is a policy on a source whose clock a test moves.
func fixture(t *testing.T, bindings ...store.Binding) (*policy.Policy, *source, *clock.Fake) {
	t.Helper()
	s, clk := &source{version: 1, bindings: bindings}, clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p := policy.New(policy.Config{Ask: "Ask root."}, policy.Deps{Source: s, Changed: func() {}, Clock: clk, Logger: zerolog.Nop()})
	return p, s, clk
}

var ada = authz.Identity{Kind: authz.User, Subject: "ada", Groups: []string{"team"}}

// decide asks about a permission on a run.
func decide(t *testing.T, p *policy.Policy, who authz.Identity, permission, project, domain string) error {
	t.Helper()
	_, err := p.Authorise(t.Context(), who, authz.Rule{Action: permission}, authz.Resource{Kind: "run", Project: project, Domain: domain, Name: "r"})
	return err
}

func TestWhereARoleHolds(t *testing.T) {
	for name, c := range map[string]struct {
		binding store.Binding
		places  map[authz.Place]bool // whether the binding gives its permissions there
	}{
		"everywhere":     {store.Binding{}, map[authz.Place]bool{{Project: "p", Domain: "d"}: true, {Project: "p"}: true, {}: true}},
		"a project":      {store.Binding{Project: "p"}, map[authz.Place]bool{{Project: "p", Domain: "d"}: true, {Project: "p"}: true, {Project: "q", Domain: "d"}: false, {Project: "q"}: false, {}: false}},
		"a domain":       {store.Binding{Domain: "d"}, map[authz.Place]bool{{Project: "p", Domain: "d"}: true, {Project: "q", Domain: "d"}: true, {Project: "p", Domain: "e"}: false, {Project: "p"}: false, {}: false}},
		"both":           {store.Binding{Project: "p", Domain: "d"}, map[authz.Place]bool{{Project: "p", Domain: "d"}: true, {Project: "p", Domain: "e"}: false, {Project: "q", Domain: "d"}: false, {Project: "p"}: false, {}: false}},
		"a group":        {store.Binding{Member: store.Member{Kind: store.GroupMember, Name: "team"}, Project: "p"}, map[authz.Place]bool{{Project: "p", Domain: "d"}: true, {Project: "q", Domain: "d"}: false}},
		"a group's name": {store.Binding{Member: user("team"), Project: "p"}, map[authz.Place]bool{{Project: "p", Domain: "d"}: false}},
		"a key's name":   {store.Binding{Member: store.Member{Kind: store.KeyMember, Name: "ada"}, Project: "p"}, map[authz.Place]bool{{Project: "p", Domain: "d"}: false}},
	} {
		t.Run(name, func(t *testing.T) {
			c.binding.Role = policy.Runner
			if c.binding.Member == (store.Member{}) {
				c.binding.Member = user("ada")
			}
			p, _, _ := fixture(t, c.binding)
			for place, want := range c.places {
				err := decide(t, p, ada, "run.create", place.Project, place.Domain)
				require.Equal(t, want, err == nil, "%v: %v", place, err)
				explained, err := p.Explain(t.Context(), user("ada"), ada.Groups, "run.create", place)
				require.NoError(t, err)
				require.Equal(t, want, explained.Allowed, "%v: %s", place, explained.Reason)
			}
			scope, err := p.Authorise(t.Context(), ada, authz.Rule{Action: "run.view", Lists: true}, authz.Resource{})
			require.NoError(t, err)
			for place, want := range c.places {
				if place.Project != "" {
					require.Equal(t, want, scope.Allows(place.Project, place.Domain), "%v in %v", place, scope)
				}
			}
		})
	}
}

func TestWithoutAnAnswerOfTheStoreNothingIsDecided(t *testing.T) {
	p, s, clk := fixture(t, store.Binding{Member: user("ada"), Role: policy.Operator})
	s.err = errors.New("no database")
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(decide(t, p, ada, "run.view", "p", "d")), "before the first answer")
	s.err = nil
	require.NoError(t, decide(t, p, ada, "run.view", "p", "d"))
	s.err = errors.New("no database")
	require.NoError(t, decide(t, p, ada, "run.view", "p", "d"), "a moment later it is known")
	bob := authz.Identity{Kind: authz.User, Subject: "bob"}
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(decide(t, p, bob, "run.view", "p", "d")), "of bob nothing is known")
	clk.Step(31 * time.Second)
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(decide(t, p, ada, "run.view", "p", "d")), "what was known is too old")
	s.err = nil
	require.NoError(t, decide(t, p, ada, "run.view", "p", "d"), "it is read again")
	clk.Step(24 * time.Hour)
	require.NoError(t, decide(t, p, ada, "run.view", "p", "d"), "a clock that is set is not an outage")
	s.change(func() { s.err = errors.New("no database") })
	require.Error(t, p.Refresh(t.Context()))
}

// TestAChangeWithoutANotificationIsFound takes a role away behind the back of a policy.
func TestAChangeWithoutANotificationIsFound(t *testing.T) {
	p, s, clk := fixture(t, store.Binding{Member: user("ada"), Role: policy.Viewer, Project: "p"})
	require.NoError(t, p.Start(t.Context()))
	defer func() { require.NoError(t, p.Stop(context.WithoutCancel(t.Context()))) }()
	require.NoError(t, decide(t, p, ada, "run.view", "p", "d"))
	reads := s.reads
	for range 100 {
		require.NoError(t, decide(t, p, ada, "run.view", "p", "d"))
	}
	require.Equal(t, reads, s.reads, "decisions are made in memory")
	changed := p.Changed()
	s.change(func() { s.bindings = nil })
	require.Eventually(t, func() bool { return clk.Timers() > 0 }, time.Minute, time.Millisecond)
	clk.Step(2 * time.Second)
	<-changed
	require.Equal(t, rpc.KindNotFound, rpc.KindOf(decide(t, p, ada, "run.view", "p", "d")))
}

func TestRolesOfTheInstallation(t *testing.T) {
	p, s, _ := fixture(t, store.Binding{Member: user("ada"), Role: "auditor", Project: "p"})
	require.Error(t, decide(t, p, ada, "run.view", "p", "d"), "the role is unknown")
	s.change(func() {
		s.roles = []store.Role{{Name: "auditor", Permissions: []string{"*.view", "run.*"}}, {Name: policy.Viewer, Permissions: []string{"*.*"}}}
	})
	require.NoError(t, p.Refresh(t.Context()))
	for permission, want := range map[string]bool{"run.view": true, "secret.view": true, "run.create": true, "task.deploy": false} {
		require.Equal(t, want, decide(t, p, ada, permission, "p", "d") == nil, permission)
	}
	s.change(func() { s.bindings = []store.Binding{{Member: user("ada"), Role: policy.Viewer, Project: "p"}} })
	require.NoError(t, p.Refresh(t.Context()))
	require.Error(t, decide(t, p, ada, "task.deploy", "p", "d"), "a stored role does not replace a built-in one")
}

// TestEveryPermissionIsInARole keeps the roles and the table of procedures together: a permission of the table that only operators
// have is listed here, and each permission of a role exists.
func TestEveryPermissionIsInARole(t *testing.T) {
	onlyOperators := []string{
		"account.create", "account.delete", "account.update", "account.view", "audit.verify", "cluster.create", "cluster.delete", "cluster.update", "cluster.view", "domain.create", "domain.delete", "domain.update", "key.administer", "loglevel.change", "loglevel.view", "metrics.view",
		"profile.view", "retention.view", "role.delete", "role.update", "system.view",
	}
	var of []string
	for _, role := range policy.BuiltIn() {
		if role.Name == policy.Operator {
			require.Equal(t, policy.Permissions(), policy.Expand(role))
			continue
		}
		for _, permission := range role.Permissions {
			require.Contains(t, policy.Permissions(), permission, "%s has it", role.Name)
		}
		of = role.Permissions // each role has those of the ones before it
	}
	for _, permission := range policy.Permissions() {
		require.NotEqual(t, slices.Contains(onlyOperators, permission), slices.Contains(of, permission), permission)
	}
	require.NoError(t, policy.CheckPattern("run.*"))
	require.NoError(t, policy.CheckPattern("*.view"))
	require.ErrorContains(t, policy.CheckPattern("run.fly"), `no permission is "run.fly"`)
	require.ErrorContains(t, policy.CheckPattern("run"), "want noun.verb")
}

// TestOnlyOperatorsDecideAboutAccounts: groups of accounts carry rights, so a role that includes all changes does not include those of
// accounts, unless it includes everything.
func TestOnlyOperatorsDecideAboutAccounts(t *testing.T) {
	roles := map[string][]string{
		"verbs": {"*.create", "*.update", "*.delete", "*.view"}, "noun": {"account.*"}, "names": {"account.create", "account.update", "account.delete"},
		"everything": {"*.*"},
	}
	for name, permissions := range roles {
		p, s, _ := fixture(t, store.Binding{Member: user("ada"), Role: name})
		s.change(func() { s.roles = []store.Role{{Name: name, Permissions: permissions}} })
		require.NoError(t, p.Refresh(t.Context()))
		for _, permission := range []string{"account.create", "account.update", "account.delete"} {
			_, err := p.Authorise(t.Context(), ada, authz.Rule{Action: permission}, authz.Resource{Kind: "account", Name: "grace"})
			require.Equal(t, name == "everything", err == nil, "%s with the role %s: %v", permission, name, err)
			require.ErrorContains(t, policy.CheckPattern(permission), "is for operators alone")
		}
	}
	require.NoError(t, policy.CheckPattern("account.*"), "which is to see them")
	p, _, _ := fixture(t)
	for _, permission := range []string{"identity.view", "identity.update"} {
		_, err := p.Authorise(t.Context(), ada, authz.Rule{Action: permission, Members: true}, authz.Resource{})
		require.NoError(t, err, "about oneself, without any role")
	}
	_, err := p.Authorise(t.Context(), ada, authz.Rule{Action: "queue.view", Members: true}, authz.Resource{})
	require.Error(t, err)
}

func TestRefusalsSayWhatIsMissing(t *testing.T) {
	p, _, _ := fixture(t, store.Binding{Member: user("ada"), Role: policy.Viewer, Project: "p"})
	err := decide(t, p, ada, "run.create", "p", "d")
	require.Equal(t, rpc.KindPermissionDenied, rpc.KindOf(err))
	require.EqualError(t, err, "run.create is not allowed on run p/d/r to ada; it takes one of the roles runner, contributor, admin, operator there. Ask root.")
	err = decide(t, p, ada, "run.create", "q", "d")
	require.Equal(t, rpc.KindNotFound, rpc.KindOf(err))
	require.EqualError(t, err, "run q/d/r does not exist, or you may not see it. Ask root.")
	for _, c := range []struct {
		permission string
		resource   authz.Resource
		want       string
	}{
		{"data.upload", authz.Resource{Kind: "data", Project: "p", Domain: "d"}, "data.upload is not allowed on data in p/d to ada; it takes one of the roles runner, "},
		{"project.update", authz.Resource{Kind: "project", Project: "p"}, "project.update is not allowed on project p to ada; "},
		{"secret.view", authz.Resource{Kind: "secret", Project: "q"}, "secret in q does not exist, or you may not see it. Ask root."},
		{"secret.view", authz.Resource{Kind: "secret", Name: "s"}, "secret.view is not allowed on secret s to ada; it takes one of the roles contributor, admin, operator there. Ask root."},
		{
			"settings.view", authz.Resource{Kind: "settings"},
			"settings.view is not allowed on settings of every project to ada; it takes one of the roles viewer, runner, contributor, admin, operator there. " +
				"You may in p: name the project. Ask root.",
		},
	} {
		_, err := p.Authorise(t.Context(), ada, authz.Rule{Action: c.permission}, c.resource)
		require.ErrorContains(t, err, c.want)
	}
	explained, err := p.Explain(t.Context(), user("ada"), nil, "run.create", authz.Place{Project: "p", Domain: "d"})
	require.NoError(t, err)
	require.Equal(t, "user ada may not run.create in p/d: it has the role viewer in project p, and needs one of the roles runner, contributor, admin, operator", explained.Reason)
	require.Len(t, explained.Bindings, 1)
	_, err = p.Authorise(t.Context(), authz.Identity{}, authz.Rule{Action: "run.view"}, authz.Resource{Project: "p"})
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err))
}

func TestNoCallerGivesWhatItDoesNotHave(t *testing.T) {
	p, _, _ := fixture(t, store.Binding{Member: user("ada"), Role: policy.Admin, Project: "p"})
	roles, err := p.RoleList(t.Context())
	require.NoError(t, err)
	for _, role := range roles {
		missing, err := p.Missing(t.Context(), ada, role, authz.Place{Project: "p"})
		require.NoError(t, err)
		require.Equal(t, role.Name == policy.Operator, len(missing) > 0, role.Name)
		for _, place := range []authz.Place{{}, {Project: "q"}, {Domain: "d"}} {
			missing, err = p.Missing(t.Context(), ada, role, place)
			require.NoError(t, err)
			require.NotEmpty(t, missing, "%s in %v", role.Name, place)
		}
	}
}

// TestAKeyMayDoWhatItsOwnerMay: what the owner loses, the key loses, also a part of it; the key of a service has no owner that bounds it.
func TestAKeyMayDoWhatItsOwnerMay(t *testing.T) {
	key := func(id string) store.Member { return store.Member{Kind: store.KeyMember, Name: id} }
	ci, service := authz.Identity{Kind: authz.Key, Subject: "ci"}, authz.Identity{Kind: authz.Key, Subject: "service"}
	everywhere := store.Binding{Member: key("ci"), Role: policy.Runner, ID: "7", CreatedBy: "ada"}
	p, s, _ := fixture(t, everywhere, store.Binding{Member: key("service"), Role: policy.Runner, Project: "p"})
	s.owners = map[string]store.KeyOwner{"ci": {Subject: "ada", Groups: []string{"team"}}, "service": {Service: true, Subject: "ada"}}
	given := func(bindings ...store.Binding) {
		t.Helper()
		s.change(func() { s.bindings = append(s.bindings[:2:2], bindings...) })
		require.NoError(t, p.Refresh(t.Context()))
	}
	grants := func() (texts []string) {
		found, err := p.GrantsOf(t.Context(), ci)
		require.NoError(t, err)
		for _, grant := range found {
			texts = append(texts, fmt.Sprint(grant.Place.Project, "/", grant.Place.Domain, " ", slices.Contains(grant.Permissions, "run.create")))
		}
		return texts
	}
	denied := func(who authz.Identity, project, domain string) {
		t.Helper()
		require.Equal(t, rpc.KindNotFound, rpc.KindOf(decide(t, p, who, "run.create", project, domain)))
	}
	denied(ci, "p", "d")
	require.Empty(t, grants())
	_, err := p.Authorise(t.Context(), ci, authz.Rule{Action: "role.view", Members: true}, authz.Resource{})
	require.ErrorContains(t, err, "has no role in this installation")
	require.NoError(t, decide(t, p, service, "run.create", "p", "d"))

	given(store.Binding{Member: user("ada"), Role: policy.Contributor, Project: "p", Domain: "d"})
	require.NoError(t, decide(t, p, ci, "run.create", "p", "d"))
	require.Equal(t, rpc.KindPermissionDenied, rpc.KindOf(decide(t, p, ci, "task.deploy", "p", "d")), "the owner may, the key may not")
	denied(ci, "p", "e")
	denied(ci, "q", "d")
	require.Equal(t, []string{"p/d true"}, grants())
	scope, err := p.Authorise(t.Context(), ci, authz.Rule{Action: "run.view", Lists: true}, authz.Resource{})
	require.NoError(t, err)
	require.Equal(t, authz.Scope{Places: []authz.Place{{Project: "p", Domain: "d"}}}, scope)

	given(store.Binding{Member: user("ada"), Role: policy.Viewer, Project: "p"})
	require.Equal(t, rpc.KindPermissionDenied, rpc.KindOf(decide(t, p, ci, "run.create", "p", "d")))
	require.NoError(t, decide(t, p, ci, "run.view", "p", "e"))
	require.Equal(t, []string{"p/ false"}, grants())
	explained, err := p.Explain(t.Context(), key("ci"), nil, "run.create", authz.Place{Project: "p"})
	require.NoError(t, err)
	require.Equal(t, "key ci may not run.create in project p: it has the role runner in the whole installation (binding 7, given by ada), but a key "+
		"may do no more than its owner, and user ada has the role viewer in project p", explained.Reason)
	explained, err = p.Explain(t.Context(), key("ci"), nil, "run.view", authz.Place{Project: "p"})
	require.NoError(t, err)
	require.True(t, explained.Allowed)

	given(store.Binding{Member: store.Member{Kind: store.GroupMember, Name: "team"}, Role: policy.Operator})
	require.NoError(t, decide(t, p, ci, "run.create", "q", "d"), "by a group of the owner")
	require.Equal(t, []string{"/ true"}, grants())
	s.change(func() { s.owners["ci"] = store.KeyOwner{Subject: "ada"} })
	require.NoError(t, p.Refresh(t.Context()))
	denied(ci, "q", "d")
	s.change(func() { s.ownersErr = errors.New("no database") })
	require.NoError(t, p.Refresh(t.Context()))
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(decide(t, p, ci, "run.create", "p", "d")), "without its owner nothing is decided")
}

// TestChangesRaceWithDecisions takes a role away while callers decide: none is allowed once the change is known.
func TestChangesRaceWithDecisions(t *testing.T) {
	for range 20 {
		p, s, _ := fixture(t, store.Binding{Member: user("ada"), Role: policy.Viewer, Project: "p"})
		var deciders sync.WaitGroup
		for range 4 {
			deciders.Go(func() {
				for range 50 {
					_ = decide(t, p, ada, "run.view", "p", "d") // either answer
				}
			})
		}
		s.change(func() { s.bindings = nil })
		require.NoError(t, p.Refresh(t.Context()))
		require.Error(t, decide(t, p, ada, "run.view", "p", "d"))
		deciders.Wait()
		require.Error(t, decide(t, p, ada, "run.view", "p", "d"))
	}
}

// TestAPolicyThatDecidesNothingFollowsNothing: in an open installation, no loop reads the database, and who asks gets what is there.
func TestAPolicyThatDecidesNothingFollowsNothing(t *testing.T) {
	s, clk := &source{version: 1}, clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	p := policy.New(policy.Config{}, policy.Deps{Source: s, Changed: func() {}, Clock: clk, Logger: zerolog.Nop(), Idle: true})
	require.NoError(t, p.Start(t.Context()))
	defer func() { require.NoError(t, p.Stop(t.Context())) }()
	require.Zero(t, clk.Timers())
	_, known, err := p.Role(t.Context(), "auditor")
	require.NoError(t, err)
	require.False(t, known)
	s.change(func() { s.roles = []store.Role{{Name: "auditor", Permissions: []string{"*.view"}}} })
	clk.Step(time.Hour)
	_, known, err = p.Role(t.Context(), "auditor")
	require.NoError(t, err)
	require.True(t, known)
}

// TestWhoHasARoleSeesTheTaskThatBuildsImages: the clients of a project look for it in a place of the installation.
func TestWhoHasARoleSeesTheTaskThatBuildsImages(t *testing.T) {
	p, _, _ := fixture(t, store.Binding{Member: user("ada"), Role: policy.Runner, Project: "p"})
	builder := authz.Resource{Kind: "task", Project: "system", Domain: "production", Name: "build-image"}
	scope, err := p.Authorise(t.Context(), ada, authz.Rule{Action: "task.view", Lists: true}, authz.Resource{Kind: "place", Project: "system", Domain: "production"})
	require.NoError(t, err)
	require.Equal(t, []authz.Place{{Project: "system", Domain: "production"}}, scope.Places)
	scope, err = p.Authorise(t.Context(), ada, authz.Rule{Action: "task.view"}, builder)
	require.NoError(t, err)
	require.True(t, scope.All, "no list, and the run that has the task is elsewhere")
	for _, permission := range []string{"run.view", "run.create", "task.deploy", "project.view", "data.view"} {
		require.Error(t, decide(t, p, ada, permission, "system", "production"), permission)
	}
	require.Error(t, decide(t, p, ada, "task.view", "system", "development"))
	_, err = p.Authorise(t.Context(), authz.Identity{Kind: authz.User, Subject: "nobody"}, authz.Rule{Action: "task.view"}, builder)
	require.Error(t, err)
}
