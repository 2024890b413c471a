package command_test

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/command"
)

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
	text, err := run("keys", "create", "ci", "--role", "runner", "--in", "mine", "--owner", "ada")
	require.NoError(t, err)
	require.Regexp(t, `secret +fbk_\w{42}\nFLYTE_API_KEY +\S+\nends +20`, text)
	id := regexp.MustCompile(`key-\w+`).FindString(text)
	text, err = run("access", "check", "key:"+id, "run.create", "mine/development")
	require.NoError(t, err)
	require.Equal(t, "key "+id+" may run.create in mine/development: the role runner in project mine\n", text)
	text, err = run("access", "check", "key:"+id, "run.create", "theirs")
	require.ErrorContains(t, err, "not allowed")
	require.Contains(t, text, "may not run.create in project theirs: it has no role there")
	_, err = run("access", "check", "ada", "run.fly")
	require.ErrorContains(t, err, `no permission is "run.fly"`)
	_, err = run("keys", "create", "ci", "--role", "king")
	require.ErrorContains(t, err, `there is no role "king"`)
	text, err = run("keys", "list")
	require.NoError(t, err)
	require.Contains(t, text, id+"  ci  of ada")
	_, err = run("keys", "revoke", id)
	require.NoError(t, err)
	text, err = run("keys", "list")
	require.NoError(t, err)
	require.Empty(t, text)
	text, err = run("audit", "verify")
	require.NoError(t, err)
	require.Contains(t, text, "2 events are as they were written")
	_, err = pool.Exec(t.Context(), `UPDATE access_audit SET subject = 'eve' WHERE sequence = 1`)
	require.NoError(t, err)
	_, err = run("audit", "verify")
	require.ErrorContains(t, err, "event 1 was changed")
}
