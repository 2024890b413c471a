package command_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/command"
)

// TestARemovalWithWorkAsksForTheName: it says what is there, and without the name nothing is removed.
func TestARemovalWithWorkAsksForTheName(t *testing.T) {
	pool := pgtest.Schemas(t, manager.Schemas()...)
	run := func(typed string, args ...string) (string, error) {
		root := command.New()
		var out bytes.Buffer
		root.SetIn(strings.NewReader(typed))
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append(append([]string{"clusters"}, args...), "--set", "database.url="+pgtest.URL(pool)))
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	add := func() {
		_, err := run("", "add", "east")
		require.NoError(t, err)
	}
	add()
	_, err := pool.Exec(t.Context(), `INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, input_uri, created_at, updated_at, admitted_at, cluster)
		VALUES (1, 1, 'p', 'd', 'r', 'a0', 1, 4, '', now(), now(), now(), 'east')`)
	require.NoError(t, err)
	_, err = run("", "remove", "east")
	require.ErrorContains(t, err, "cluster east still has work: 1 action")
	for _, typed := range []string{"", "\n", "west\n", "y\n"} {
		text, err := run(typed, "remove", "east", "--force")
		require.ErrorContains(t, err, "nothing was removed", typed)
		require.Contains(t, text, "cluster east still has 1 action.")
		require.Contains(t, text, "ClusterLost")
	}
	text, err := run("east\n", "remove", "east", "--force")
	require.NoError(t, err)
	require.Contains(t, text, "removed cluster east\n")
	add()
	text, err = run("", "remove", "east", "--force", "--yes")
	require.NoError(t, err)
	require.Equal(t, "removed cluster east\n", text)
}
