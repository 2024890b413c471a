package command_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	clusterstore "github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/command"
)

// TestTheListOfClustersSaysHowEachIs: the version, what is free and the stores that it reaches.
func TestTheListOfClustersSaysHowEachIs(t *testing.T) {
	pool := pgtest.Schemas(t, manager.Schemas()...)
	rows := clusterstore.New(pool)
	for _, hello := range []clusterstore.Hello{
		{Cluster: "east", Version: "1.4.2", Labels: map[string]string{"region": "us"}, Nodes: clusterstore.Nodes{
			Capacity: states.Resources{"cpu": 8000, "memory": 16 << 30, "nvidia.com/gpu": 2}, Free: states.Resources{"cpu": 500, "memory": 3 << 29},
		}},
		{Cluster: "west", Version: "1.4.1", Labels: map[string]string{"region": "eu"}},
	} {
		hello.Instance, hello.Link, hello.Replica = "one", "l-"+hello.Cluster, "r"
		require.NoError(t, rows.Connect(t.Context(), hello, true))
	}
	list := func(settings ...string) string {
		root := command.New()
		var out bytes.Buffer
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append([]string{"clusters", "list", "--set", "database.url=" + pgtest.URL(pool)}, settings...))
		require.NoError(t, root.ExecuteContext(t.Context()), out.String())
		return out.String()
	}
	text := list("--set", "runs.placement.stores=prefix=s3://east-data clusters=east, prefix=s3://us-data where=region=us")
	east, west, both := strings.Cut(text, "west  added")
	require.True(t, both, text)
	require.Regexp(t, `(?m)^  version 1\.4\.2, last heard 20\S+ \S+ UTC$`, east)
	require.Contains(t, east, "\n  free: 0 of 2 nvidia.com/gpu, 500m of 8 cpu, 1.5Gi of 16Gi memory\n")
	require.Contains(t, east, "\n  reaches s3://east-data, s3://us-data\n")
	require.Contains(t, west, "\n  version 1.4.1,")
	require.Contains(t, west, "\n  its capacity is unknown: the controller may not list nodes\n")
	require.Contains(t, west, "\n  reaches none of the stores of runs.placement.stores\n")
	require.NotContains(t, list(), "reaches", "without stores, all clusters reach everything")
}
