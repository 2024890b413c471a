package command_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/accounts"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/command"
)

// TestUsersOnTheCommandLine keeps local accounts. No password is on the command line.
func TestUsersOnTheCommandLine(t *testing.T) {
	pool := pgtest.Schemas(t, manager.Schemas()...)
	local := true
	run := func(input string, args ...string) (string, error) {
		root := command.New()
		var out bytes.Buffer
		root.SetIn(strings.NewReader(input))
		root.SetOut(&out)
		root.SetErr(&out)
		args = append(args, "--set", "database.url="+pgtest.URL(pool))
		if local {
			args = append(args, "--set", "access.local.enabled=true")
		}
		root.SetArgs(append([]string{"access", "users"}, args...))
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	text, err := run("a good password\n", "add", "grace", "--display-name", "Grace Hopper", "--group", "research", "--email", "grace@example.com")
	require.NoError(t, err)
	require.Equal(t, "added grace\n", text)
	_, err = run("a good password", "add", "grace")
	require.ErrorContains(t, err, "there is an account grace")
	_, err = run("short\n", "add", "bob")
	require.ErrorContains(t, err, "the password of bob must have 8 to 1024 bytes")
	_, err = run("a good password\n", "add", "local|bob")
	require.ErrorContains(t, err, "no spaces and no |")
	text, err = run("", "list")
	require.NoError(t, err)
	require.Regexp(t, `^grace  Grace Hopper  grace@example.com  made \S+  in research\n$`, text)

	s := accounts.New(store.New(pool, clock.System{}), "")
	person, err := s.SignIn(t.Context(), "grace", "a good password")
	require.NoError(t, err)
	require.Equal(t, "grace", person.Subject)
	for range 5 {
		_, err = s.SignIn(t.Context(), "grace", "a bad password")
		require.ErrorIs(t, err, accounts.ErrRefused)
	}
	text, err = run("", "list")
	require.NoError(t, err)
	require.Contains(t, text, "locked until 20")
	_, err = run("", "unlock", "grace")
	require.NoError(t, err)
	_, err = s.SignIn(t.Context(), "grace", "a good password")
	require.NoError(t, err)
	_, err = run("a better password\n", "passwd", "grace")
	require.NoError(t, err)
	_, err = s.SignIn(t.Context(), "grace", "a good password")
	require.ErrorIs(t, err, accounts.ErrRefused)
	_, err = s.SignIn(t.Context(), "grace", "a better password")
	require.NoError(t, err)
	text, err = run("", "groups", "grace", "--group", "research", "--group", "oncall")
	require.NoError(t, err)
	require.Equal(t, "grace is in: research, oncall\n", text)
	person, err = s.SignIn(t.Context(), "grace", "a better password")
	require.NoError(t, err)
	require.Equal(t, []string{"oncall", "research"}, person.Groups)
	text, err = run("", "groups", "grace")
	require.NoError(t, err)
	require.Equal(t, "grace is in: no group\n", text)
	_, err = run("", "groups", "bob", "--group", "research")
	require.ErrorContains(t, err, "there is no account bob")
	text, err = run("", "sign-out", "grace", "--keys")
	require.NoError(t, err)
	require.Equal(t, "ended sessions: 0; revoked keys: 0\n", text)
	_, err = run("", "remove", "grace")
	require.NoError(t, err)
	_, err = run("", "remove", "grace")
	require.ErrorContains(t, err, "there is no account grace")
	_, err = s.SignIn(t.Context(), "grace", "a better password")
	require.ErrorIs(t, err, accounts.ErrRefused)
	text, err = run("", "list")
	require.NoError(t, err)
	require.Empty(t, text)
	text, err = run("", "list", "--removed")
	require.NoError(t, err)
	require.Contains(t, text, "removed 20")
	local = false
	_, err = run("", "list")
	require.ErrorContains(t, err, "access.local.enabled is false")

	rows, err := pool.Query(t.Context(), `SELECT permission || ' ' || resources[1] FROM access_audit ORDER BY sequence`)
	require.NoError(t, err)
	events, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		"account.create account grace", "account.update account grace", "account.update account grace",
		"account.update account grace", "account.update account grace", "account.update person grace", "account.delete account grace",
	}, events)
}

// TestAccessOnTheCommandLine makes and revokes a key, and asks what it may do.
func TestAccessOnTheCommandLine(t *testing.T) {
	pool := pgtest.Schemas(t, manager.Schemas()...)
	run := func(args ...string) (string, error) {
		root := command.New()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append(args, "--set", "database.url="+pgtest.URL(pool), "--set", "access.publicURL=https://flyte.example.com"))
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	text, err := run("keys", "create", "ci", "--role", "runner", "--in", "mine")
	require.NoError(t, err)
	require.Regexp(t, `secret +fbk_\w{42}\nFLYTE_API_KEY +\S+\nends +20`, text)
	id := regexp.MustCompile(`key-\w+`).FindString(text)
	text, err = run("access", "check", "key:"+id, "run.create", "mine/development")
	require.NoError(t, err)
	require.Regexp(t, "^key "+id+` may run.create in mine/development: the role runner in project mine \(binding \d+, given by \S+\)\n$`, text)
	text, err = run("access", "check", "key:"+id, "run.create", "theirs")
	require.ErrorContains(t, err, "not allowed")
	require.Contains(t, text, "may not run.create in project theirs: it has no role there")
	_, err = run("access", "check", "ada", "run.fly")
	require.ErrorContains(t, err, `no permission is "run.fly"`)
	_, err = run("keys", "create", "ci", "--role", "king")
	require.ErrorContains(t, err, `there is no role "king"`)
	text, err = run("keys", "list")
	require.NoError(t, err)
	require.Contains(t, text, id+"  ci  of a service, by ")
	_, err = run("keys", "revoke", id)
	require.NoError(t, err)

	ada := []string{"--set", `access.bindings=[{"group": "team", "role": "contributor", "project": "mine"}]`}
	text, err = run(append([]string{"keys", "create", "nightly", "--role", "runner", "--owner", "ada", "--group", "team"}, ada...)...)
	require.NoError(t, err)
	nightly := regexp.MustCompile(`key-\w+`).FindString(text)
	text, err = run(append([]string{"access", "check", "key:" + nightly, "run.create", "mine"}, ada...)...)
	require.NoError(t, err)
	require.Regexp(t, `may run.create in project mine: the role runner in the whole installation \(binding \d+, given by ada\)\n$`, text)
	text, err = run(append([]string{"access", "check", "ada", "run.create", "mine", "--group", "team"}, ada...)...)
	require.NoError(t, err)
	require.Equal(t, "user ada may run.create in project mine: the role contributor in project mine by group team (of the configuration)\n", text)
	text, err = run("access", "check", "key:"+nightly, "run.create", "mine") // the group has lost its role
	require.ErrorContains(t, err, "not allowed")
	require.Contains(t, text, "a key may do no more than its owner, and user ada has no role there")
	_, err = run("keys", "revoke", nightly)
	require.NoError(t, err)
	text, err = run("keys", "list")
	require.NoError(t, err)
	require.Empty(t, text)
	text, err = run("audit", "export")
	require.NoError(t, err)
	require.Regexp(t, `^\{"sequence":1,.*"permission":"key.create".*\}\n\{"sequence":2,.*"permission":"key.revoke".*\}\n(.*\n){3}exported events: 5; continue with --after 5\n$`, text, "with itself")
	text, err = run("audit", "export", "--after", "5", "--since", "1h", "--format", "jsonl")
	require.NoError(t, err)
	require.Regexp(t, `^\{"sequence":6,.*"permission":"audit.view".*\}\nexported events: 1; continue with --after 6\n$`, text, "the export is recorded")
	text, err = run("audit", "export", "--until", "2020-01-01")
	require.NoError(t, err)
	require.Equal(t, "exported events: 0; continue with --after 0\n", text)
	_, err = run("audit", "export", "--since", "yesterday")
	require.ErrorContains(t, err, "--since must be a time")
	_, err = run("audit", "export", "--format", "csv")
	require.ErrorContains(t, err, "--format must be jsonl")
	text, err = run("audit", "verify")
	require.NoError(t, err)
	require.Contains(t, text, "7 events are as they were written")
	_, err = pool.Exec(t.Context(), `UPDATE access_audit SET subject = 'eve' WHERE sequence = 1`)
	require.NoError(t, err)
	_, err = run("audit", "verify")
	require.ErrorContains(t, err, "event 1 was changed")
}
