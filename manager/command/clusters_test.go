package command_test

import (
	"bytes"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/command"
)

// TestClustersOnTheCommandLine registers a cluster, replaces its credential and removes it. All of it is recorded.
func TestClustersOnTheCommandLine(t *testing.T) {
	pool := pgtest.Schemas(t, manager.Schemas()...)
	run := func(args ...string) (string, error) {
		root := command.New()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append(append([]string{"clusters"}, args...), "--set", "database.url="+pgtest.URL(pool)))
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	text, err := run("add", "east")
	require.NoError(t, err)
	require.Regexp(t, `^cluster +east\ninstallation +\w+\ncredential +cred-\w{16}\nsecret +fbc_\w{42}\n$`, text)
	first := regexp.MustCompile(`cred-\w+`).FindString(text)
	_, err = run("add", "east")
	require.ErrorContains(t, err, "cluster east already exists")
	_, err = run("add", "East")
	require.ErrorContains(t, err, "lower-case letters")
	text, err = run("issue", "east")
	require.NoError(t, err)
	second := regexp.MustCompile(`cred-\w+`).FindString(text)
	_, err = run("issue", "west")
	require.ErrorContains(t, err, "cluster west does not exist")
	text, err = run("revoke", first)
	require.NoError(t, err)
	require.Equal(t, "revoked "+first+" of cluster east\n", text)
	text, err = run("list")
	require.NoError(t, err)
	require.Regexp(t, `^east  added 20\S+ by \S+\n  its controller has not connected yet\n  `+first+`  …\w{4}  made 20\S+ by \S+  used never  revoked 20\S+\n  `+second+`  …\w{4}  .* used never\n$`, text)
	text, err = run("cordon", "east", "--note", "new network")
	require.NoError(t, err)
	require.Equal(t, "cluster east is cordoned; it has nothing\n", text)
	text, err = run("list")
	require.NoError(t, err)
	require.Regexp(t, `^east  added 20\S+ by \S+  cordoned by \S+ \(new network\)\n`, text)
	text, err = run("drain", "east", "--deadline", "2h")
	require.NoError(t, err)
	require.Regexp(t, `^cluster east is draining until 20\d\d-\d\d-\d\d \d\d:\d\d UTC; it has nothing\n$`, text)
	text, err = run("list")
	require.NoError(t, err)
	require.Regexp(t, `  draining until 20\S+ \d\d:\d\d UTC by `, text)
	_, err = run("uncordon", "east")
	require.NoError(t, err)
	_, err = run("cordon", "west")
	require.ErrorContains(t, err, "cluster west does not exist")
	_, err = run("set", "east", "--labels", "tier=spot", "--weight", "2", "--pools", "gpu,cheap")
	require.NoError(t, err)
	_, err = run("set", "east")
	require.ErrorContains(t, err, "nothing to change")
	_, err = run("set", "east", "--weight", "1001")
	require.ErrorContains(t, err, "--weight")
	_, err = run("remove", "east")
	require.NoError(t, err)
	_, err = run("remove", "east")
	require.ErrorContains(t, err, "cluster east does not exist")
	text, err = run("list")
	require.NoError(t, err)
	require.Empty(t, text)

	rows, err := pool.Query(t.Context(), `SELECT permission || ' ' || array_to_string(resources, ', ') FROM access_audit ORDER BY sequence`)
	require.NoError(t, err)
	events, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		"cluster.create cluster east", "cluster.update cluster east, credential " + second, "cluster.update credential " + first + ", cluster east",
		"cluster.update cluster east", "cluster.update cluster east", "cluster.update cluster east", "cluster.update cluster east",
		"cluster.delete cluster east",
	}, events)
}
