package manager_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestARemovedAccountHasNothingLeft: its sessions, its tokens, its keys and its roles end, also a sign-in that was approved and not
// completed. A start does not make it again, and who gets its name later begins without roles.
func TestARemovedAccountHasNothingLeft(t *testing.T) {
	server := startSignIn(t, func(c *configuration.Config) {
		c.Access.Bindings = []access.BindingConfig{{Group: "navy", Role: "contributor", Project: "ships"}}
	})
	admin, grace, program := server.browser(t), server.browser(t), server.browser(t)
	admin.signIn("admin")
	grace.signIn("grace")
	accounts := accessv1connect.NewAccountServiceClient(admin.http, server.url)
	bindings := accessv1connect.NewAccessServiceClient(admin.http, server.url)
	give := &accessv1.CreateBindingRequest{
		Member: &accessv1.Member{Kind: accessv1.MemberKind_MEMBER_KIND_USER, Name: "grace"}, Role: "viewer", Scope: &accessv1.Scope{Project: "planes"},
	}
	_, err := bindings.CreateBinding(t.Context(), give)
	require.NoError(t, err)
	roles := []*accessv1.KeyRole{{Role: "runner", Scope: &accessv1.Scope{Project: "ships"}}}
	key, err := accessv1connect.NewKeyServiceClient(grace.http, server.url).CreateKey(t.Context(), &accessv1.CreateKeyRequest{Name: "ci", Roles: roles})
	require.NoError(t, err)

	client := grace.commandLine()
	approve := func() *url.URL {
		shown := grace.open(client.meta.GetAuthorizationEndpoint() + "?" + client.parameters().Encode())
		return grace.post("/access/approve", url.Values{"request": {shown.field(t, "request")}, "answer": {"allow"}}).location
	}
	got, pending := client.exchange(approve()), approve()
	for name, token := range map[string]string{"browser": "", "command line": got.Access, "key": key.GetSecret()} {
		from := program.http
		if token == "" {
			from = grace.http
		}
		_, err := server.whoami(t, from, token)
		require.NoError(t, err, name)
	}
	_, err = accessv1connect.NewAccountServiceClient(grace.http, server.url).RemoveAccount(t.Context(), &accessv1.RemoveAccountRequest{Name: "admin"})
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "%v", err)
	_, err = accounts.RemoveAccount(t.Context(), &accessv1.RemoveAccountRequest{Name: "admin"})
	require.Equal(t, connect.CodeFailedPrecondition, connect.CodeOf(err), "not one's own: %v", err)
	_, err = accounts.RemoveAccount(t.Context(), &accessv1.RemoveAccountRequest{Name: "grace"})
	require.NoError(t, err)

	for name, token := range map[string]string{"browser": "", "command line": got.Access, "key": key.GetSecret()} {
		from := program.http
		if token == "" {
			from = grace.http
		}
		_, err := server.whoami(t, from, token)
		require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%s: %v", name, err)
	}
	refresh := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {got.Refresh}, "client_id": {client.config.GetClientId()}}
	require.Equal(t, "invalid_grant", client.ask(client.meta.GetTokenEndpoint(), refresh).Error)
	late := client.exchange(pending)
	require.Equal(t, "invalid_grant the account grace was removed", late.Error+" "+late.Description)
	require.Equal(t, http.StatusUnauthorized, grace.signIn("grace").status)
	_, err = accounts.RemoveAccount(t.Context(), &accessv1.RemoveAccountRequest{Name: "grace"})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)

	_, err = accounts.CreateAccount(t.Context(), &accessv1.CreateAccountRequest{Account: &accessv1.Account{Name: "grace"}, Password: password})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, grace.signIn("grace").status)
	me, err := accessv1connect.NewAccessServiceClient(grace.http, server.url).GetMe(t.Context(), &accessv1.GetMeRequest{})
	require.NoError(t, err)
	require.Empty(t, me.GetGrants())
	_, err = server.whoami(t, program.http, key.GetSecret())
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%v", err)

	audit := accessv1connect.NewAuditServiceClient(admin.http, server.url)
	var found *accessv1.SearchAuditResponse
	require.Eventually(t, func() bool { // the record is searched a moment later
		found, err = audit.SearchAudit(t.Context(), &accessv1.SearchAuditRequest{Permission: "account.delete", Subject: "admin"})
		require.NoError(t, err)
		return len(found.GetEvents()) > 0
	}, time.Minute, 10*time.Millisecond)
	for _, event := range found.GetEvents() {
		require.Contains(t, []string{"account admin", "account grace"}, strings.Join(event.GetResources(), ","))
	}
}

// TestPasswordsAreReplaced by an operator, which ends every session, and by the person, which ends the others.
func TestPasswordsAreReplaced(t *testing.T) {
	server := startSignIn(t, nil)
	admin, grace, elsewhere := server.browser(t), server.browser(t), server.browser(t)
	admin.signIn("admin")
	grace.signIn("grace")
	elsewhere.signIn("grace")
	signedIn := func(b *browser) bool {
		_, err := server.whoami(t, b.http, "")
		return err == nil
	}
	own := accessv1connect.NewAccountServiceClient(grace.http, server.url)
	change := func(current, next string) connect.Code {
		_, err := own.ChangePassword(t.Context(), &accessv1.ChangePasswordRequest{Current: current, Password: next})
		if err == nil {
			return 0
		}
		require.NotContains(t, err.Error(), next, "no error has a password")
		return connect.CodeOf(err)
	}
	accounts := accessv1connect.NewAccountServiceClient(admin.http, server.url)
	me, err := accessv1connect.NewAccessServiceClient(grace.http, server.url).GetMe(t.Context(), &accessv1.GetMeRequest{})
	require.NoError(t, err)
	require.Empty(t, me.GetGrants(), "one's own password takes no role")
	require.Equal(t, connect.CodeInvalidArgument, change("wrong guess", "another password"))
	require.Equal(t, connect.CodeInvalidArgument, change(password, "short"))
	require.Zero(t, change(password, "another password"))
	require.True(t, signedIn(grace), "the session that did it stays")
	require.False(t, signedIn(elsewhere))
	require.Equal(t, http.StatusUnauthorized, elsewhere.signIn("grace").status)

	_, err = own.SetPassword(t.Context(), &accessv1.SetPasswordRequest{Name: "admin", Password: password})
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "%v", err)
	_, err = accounts.SetPassword(t.Context(), &accessv1.SetPasswordRequest{Name: "grace", Password: password})
	require.NoError(t, err)
	require.False(t, signedIn(grace))
	require.Equal(t, http.StatusOK, grace.signIn("grace").status)

	for range 5 {
		elsewhere.post("/access/sign-in", url.Values{"name": {"grace"}, "password": {"wrong guess"}})
	}
	require.Equal(t, http.StatusUnauthorized, elsewhere.signIn("grace").status, "locked")
	listed, err := accounts.ListAccounts(t.Context(), &accessv1.ListAccountsRequest{})
	require.NoError(t, err)
	require.Equal(t, "admin grace", listed.GetAccounts()[0].GetName()+" "+listed.GetAccounts()[1].GetName())
	require.NotNil(t, listed.GetAccounts()[1].GetLockedUntil())
	_, err = accounts.UnlockAccount(t.Context(), &accessv1.UnlockAccountRequest{Name: "grace"})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, elsewhere.signIn("grace").status)
	ended, err := accounts.EndSessions(t.Context(), &accessv1.EndSessionsRequest{Subject: "grace"})
	require.NoError(t, err)
	require.EqualValues(t, 2, ended.GetSessions())
	require.False(t, signedIn(grace))
}

// TestOnlyOperatorsDecideAboutAccounts: a role of one's own that may change everything by its verbs takes over no account and makes none in
// the group of the operators.
func TestOnlyOperatorsDecideAboutAccounts(t *testing.T) {
	server := startSignIn(t, func(c *configuration.Config) {
		c.Access.Roles = []access.RoleConfig{{Name: "helper", Permissions: []string{"*.create", "*.update", "*.delete", "*.view", "account.*"}}}
		c.Access.Bindings = []access.BindingConfig{{Group: "navy", Role: "helper"}, {Group: "platform", Role: "operator"}}
	})
	grace := server.browser(t)
	grace.signIn("grace")
	accounts := accessv1connect.NewAccountServiceClient(grace.http, server.url)
	_, err := accounts.ListAccounts(t.Context(), &accessv1.ListAccountsRequest{})
	require.NoError(t, err)
	for name, attempt := range map[string]func() error{
		"create": func() error {
			_, err := accounts.CreateAccount(t.Context(), &accessv1.CreateAccountRequest{Account: &accessv1.Account{Name: "mallory", Groups: []string{"platform"}}, Password: password})
			return err
		},
		"set a password": func() error {
			_, err := accounts.SetPassword(t.Context(), &accessv1.SetPasswordRequest{Name: "admin", Password: "another password"})
			return err
		},
		"change groups": func() error {
			_, err := accounts.UpdateAccount(t.Context(), &accessv1.UpdateAccountRequest{Account: &accessv1.Account{Name: "grace", Groups: []string{"platform"}}})
			return err
		},
		"unlock": func() error {
			_, err := accounts.UnlockAccount(t.Context(), &accessv1.UnlockAccountRequest{Name: "admin"})
			return err
		},
		"remove": func() error {
			_, err := accounts.RemoveAccount(t.Context(), &accessv1.RemoveAccountRequest{Name: "admin"})
			return err
		},
		"sign out": func() error {
			_, err := accounts.EndSessions(t.Context(), &accessv1.EndSessionsRequest{Subject: "admin", Keys: true})
			return err
		},
	} {
		err := attempt()
		require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "%s: %v", name, err)
		require.ErrorContains(t, err, "it takes one of the roles operator there", name)
	}
	_, err = accessv1connect.NewAccessServiceClient(grace.http, server.url).PutRole(t.Context(), &accessv1.PutRoleRequest{Role: &accessv1.Role{Name: "more", Permissions: []string{"*.*"}}})
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "nor gives the right to: %v", err)
}

// TestAKeyLosesWhatItsOwnerLoses: a role that is taken from a person is taken from the keys of that person. The key of a service, which takes
// the right to give roles, keeps its own.
func TestAKeyLosesWhatItsOwnerLoses(t *testing.T) {
	server := startSignIn(t, func(c *configuration.Config) {
		c.Access.Bindings = []access.BindingConfig{{Group: "navy", Role: "admin", Project: "ships"}}
	})
	admin, grace, program := server.browser(t), server.browser(t), server.browser(t)
	admin.signIn("admin")
	grace.signIn("grace")
	accounts := accessv1connect.NewAccountServiceClient(admin.http, server.url)
	bindings := accessv1connect.NewAccessServiceClient(admin.http, server.url)
	given, err := bindings.CreateBinding(t.Context(), &accessv1.CreateBindingRequest{
		Member: &accessv1.Member{Kind: accessv1.MemberKind_MEMBER_KIND_USER, Name: "grace"}, Role: "runner", Scope: &accessv1.Scope{Project: "planes"},
	})
	require.NoError(t, err)
	keys := accessv1connect.NewKeyServiceClient(grace.http, server.url)
	create := func(service bool, project string) (secret string, err error) {
		key, err := keys.CreateKey(t.Context(), &accessv1.CreateKeyRequest{
			Name: "ci", Roles: []*accessv1.KeyRole{{Role: "viewer", Scope: &accessv1.Scope{Project: project}}}, Service: service,
		})
		require.Equal(t, err == nil && service, key.GetKey().GetService())
		return key.GetSecret(), err
	}
	own, err := create(false, "planes")
	require.NoError(t, err)
	byGroup, err := create(false, "ships")
	require.NoError(t, err)
	service, err := create(true, "ships")
	require.NoError(t, err)
	_, err = create(true, "planes")
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "a runner gives no roles: %v", err)
	may := func(secret, project string) bool {
		me, err := accessv1connect.NewAccessServiceClient(bearerClient{program.http, secret}, server.url).GetMe(t.Context(), &accessv1.GetMeRequest{})
		require.NoError(t, err)
		for _, grant := range me.GetGrants() {
			if grant.GetScope().GetProject() == project {
				return true
			}
		}
		return false
	}
	require.True(t, may(own, "planes"))
	require.True(t, may(byGroup, "ships"))
	require.True(t, may(service, "ships"))

	_, err = bindings.DeleteBinding(t.Context(), &accessv1.DeleteBindingRequest{Id: given.GetBinding().GetId(), Scope: &accessv1.Scope{Project: "planes"}})
	require.NoError(t, err)
	require.False(t, may(own, "planes"))
	require.True(t, may(byGroup, "ships"))

	_, err = accounts.RemoveAccount(t.Context(), &accessv1.RemoveAccountRequest{Name: "grace"})
	require.NoError(t, err)
	_, err = server.whoami(t, program.http, byGroup)
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%v", err)
	require.True(t, may(service, "ships"))
}

// TestAnAccountIsUpdated: a role of a group that an operator gives an account holds in the sessions and for the keys that it has, and ends
// with the group.
func TestAnAccountIsUpdated(t *testing.T) {
	server := startSignIn(t, func(c *configuration.Config) {
		c.Access.Bindings = []access.BindingConfig{{Group: "navy", Role: "admin", Project: "ships"}, {Group: "army", Role: "viewer", Project: "tanks"}}
	})
	admin, grace, program := server.browser(t), server.browser(t), server.browser(t)
	admin.signIn("admin")
	grace.signIn("grace")
	me := func(client connect.HTTPClient) *accessv1.GetMeResponse {
		me, err := accessv1connect.NewAccessServiceClient(client, server.url).GetMe(t.Context(), &accessv1.GetMeRequest{})
		require.NoError(t, err)
		return me
	}
	projects := func(client connect.HTTPClient) (projects []string) {
		for _, grant := range me(client).GetGrants() {
			projects = append(projects, grant.GetScope().GetProject())
		}
		return projects
	}
	require.Equal(t, "grace", me(grace.http).GetAccount())
	key, err := accessv1connect.NewKeyServiceClient(grace.http, server.url).CreateKey(t.Context(), &accessv1.CreateKeyRequest{
		Name: "ci", Roles: []*accessv1.KeyRole{{Role: "viewer", Scope: &accessv1.Scope{Project: "ships"}}},
	})
	require.NoError(t, err)
	holder := bearerClient{program.http, key.GetSecret()}
	require.Empty(t, me(holder).GetAccount())
	require.Equal(t, []string{"ships"}, projects(holder))

	accounts := accessv1connect.NewAccountServiceClient(admin.http, server.url)
	updated, err := accounts.UpdateAccount(t.Context(), &accessv1.UpdateAccountRequest{
		Account: &accessv1.Account{Name: "grace", DisplayName: "Rear Admiral", Email: "g@example.com", Groups: []string{"army", "army"}},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"army"}, updated.GetAccount().GetGroups())
	now := me(grace.http)
	require.Equal(t, "Rear Admiral g@example.com [army]", fmt.Sprintf("%s %s %v", now.GetName(), now.GetEmail(), now.GetGroups()))
	require.Equal(t, []string{"tanks"}, projects(grace.http))
	require.Empty(t, projects(holder), "a key may do no more than its owner")
	require.Equal(t, http.StatusOK, grace.signIn("grace").status, "with the password from before")

	_, err = accounts.UpdateAccount(t.Context(), &accessv1.UpdateAccountRequest{Account: &accessv1.Account{Name: "eve"}})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
	_, err = accessv1connect.NewAccountServiceClient(grace.http, server.url).UpdateAccount(t.Context(), &accessv1.UpdateAccountRequest{
		Account: &accessv1.Account{Name: "grace", Groups: []string{"navy"}},
	})
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "%v", err)
}

// TestGiversAreNamed: who lacks a permission learns who may give it, and nothing of projects that it may not see.
func TestGiversAreNamed(t *testing.T) {
	server := startSignIn(t, func(c *configuration.Config) {
		c.Access.Roles = []access.RoleConfig{{Name: "clerk", Permissions: []string{"binding.*"}}}
		c.Access.Bindings = []access.BindingConfig{
			{Group: "navy", Role: "admin", Project: "ships"}, {User: "ada", Role: "admin", Project: "ships", Domain: "production"},
			{User: "clara", Role: "clerk", Project: "ships"}, {User: "eve", Role: "runner", Project: "ships"}, {User: "vera", Role: "viewer", Project: "ships"},
		}
		for _, name := range []string{"ada", "vera", "nobody"} {
			c.Access.Local.Accounts = append(c.Access.Local.Accounts, access.AccountConfig{Name: name, Password: password, Email: name + "@example.com"})
		}
	})
	ask := func(name, permission, project, domain string) *accessv1.ListGiversResponse {
		who := server.browser(t)
		who.signIn(name)
		answer, err := accessv1connect.NewAccessServiceClient(who.http, server.url).ListGivers(t.Context(), &accessv1.ListGiversRequest{
			Permission: permission, Scope: &accessv1.Scope{Project: project, Domain: domain},
		})
		require.NoError(t, err)
		return answer
	}
	named := func(answer *accessv1.ListGiversResponse) (names []string) {
		for _, giver := range answer.GetGivers() {
			names = append(names, strings.TrimSpace(giver.GetMember().GetName()+" "+giver.GetName()+" "+giver.GetEmail()))
		}
		return names
	}
	admins := []string{"navy", "grace Grace Hopper grace@example.com", "admin Administrator"}
	answer := ask("vera", "run.create", "ships", "development")
	require.Equal(t, admins, named(answer), "neither who has the role elsewhere, nor who has it without the right to give it, nor a clerk without it")
	require.Equal(t, []string{"runner", "contributor", "admin", "operator"}, answer.GetRoles())
	require.Equal(t, append([]string{"ada ada ada@example.com"}, admins...), named(ask("vera", "run.create", "ships", "production")), "the nearest first")
	require.Equal(t, append([]string{"navy", "grace Grace Hopper grace@example.com", "clara"}, "admin Administrator"),
		named(ask("vera", "binding.view", "ships", "development")), "a person without an account is named by the subject")
	require.Equal(t, []string{"admin Administrator"}, named(ask("vera", "account.view", "", "")))
	for _, project := range []string{"ships", "flytesnacks", "no-such-project"} {
		require.Equal(t, []string{"admin Administrator"}, named(ask("nobody", "run.create", project, "development")), project)
	}

	who := server.browser(t)
	_, err := accessv1connect.NewAccessServiceClient(who.http, server.url).ListGivers(t.Context(), &accessv1.ListGiversRequest{Permission: "run.create"})
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%v", err)
	who.signIn("vera")
	_, err = accessv1connect.NewAccessServiceClient(who.http, server.url).ListGivers(t.Context(), &accessv1.ListGiversRequest{Permission: "run.fly"})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
}

// TestLimitsAreTold to everyone about themselves, and about projects to those who see them.
func TestLimitsAreTold(t *testing.T) {
	server := startSignInAt(t, clock.NewFake(time.Now()), func(c *configuration.Config) { // so that no limit recovers
		c.Access.Limits.RunsPerMinute, c.Access.Limits.ProjectRunsPerMinute = 7, 0
		c.Access.Bindings = []access.BindingConfig{{User: "grace", Role: "viewer", Project: "flytesnacks", Domain: "development"}}
	})
	grace := server.browser(t)
	grace.signIn("grace")
	client := accessv1connect.NewAccessServiceClient(grace.http, server.url)
	told, err := client.GetLimits(t.Context(), &accessv1.GetLimitsRequest{Project: "flytesnacks"})
	require.NoError(t, err)
	limits := map[string]*accessv1.Limit{}
	for _, limit := range told.GetLimits() {
		limits[limit.GetSetting()] = limit
	}
	require.EqualValues(t, 7, limits["access.limits.runsPerMinute"].GetLeft())
	require.EqualValues(t, 60, limits["access.limits.runsPerMinute"].GetPer().GetSeconds())
	require.Nil(t, limits["access.limits.streams"].GetPer())
	requests := limits["access.limits.requestsPerSecond"]
	require.Less(t, requests.GetLeft(), requests.GetBurst(), "this call counts")
	require.Equal(t, "flytesnacks", limits["access.limits.projectRunsPerMinute"].GetProject())
	require.Zero(t, limits["access.limits.projectRunsPerMinute"].GetMost())
	_, err = client.GetLimits(t.Context(), &accessv1.GetLimitsRequest{Project: "no-such-project"})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
}
