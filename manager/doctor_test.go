package manager_test

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/queues"
)

func hostOf(t *testing.T, authority string) string {
	t.Helper()
	host, _, err := net.SplitHostPort(authority)
	require.NoError(t, err)
	return host
}

func TestDoctorFindsAllWell(t *testing.T) {
	cluster := kubetest.New(t)
	for _, finding := range manager.Examine(t.Context(), testConfig(t), cluster.Config) {
		require.NoError(t, finding.Err, finding.What)
		require.NotEmpty(t, finding.Detail, finding.What)
	}
}

// TestDoctorKnowsTheRegistry: what a setting sends to a cluster that does not exist waits forever, so each such name is found.
func TestDoctorKnowsTheRegistry(t *testing.T) {
	config := testConfig(t)
	config.Target = configuration.TargetAPI
	of := func() (found []manager.Finding) {
		for _, one := range manager.Examine(t.Context(), config, nil) {
			if strings.HasPrefix(one.What, "cluster") {
				found = append(found, one)
			}
		}
		return found
	}
	require.Empty(t, of(), "no setting names a cluster")

	config.Runs.Queues = []queues.Queue{{Name: "night", Cluster: "nroth"}}
	config.Runs.Placement.Rules = []placement.Rule{{Queues: []string{"night"}, Cluster: "nroth"}, {Cluster: "east"}}
	config.Gateway.Near = []string{"west"}
	findings := of()
	require.Len(t, findings, 3)
	require.Equal(t, "cluster nroth", findings[1].What)
	require.EqualError(t, findings[1].Err, "it is not registered, and named in runs.queues and runs.placement.rules")
	require.Contains(t, findings[1].Fix, "flyte-binary clusters add nroth")

	pool, err := pgdb.Open(t.Context(), config.Database)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	for _, name := range []string{"east", "west", "nroth"} {
		require.NoError(t, store.New(pool).Add(t.Context(), store.Cluster{Name: name, CreatedAt: time.Now()}, store.Credential{ID: name, Cluster: name, CreatedAt: time.Now()}, []byte(name)))
	}
	findings = of()
	require.Len(t, findings, 1)
	require.NoError(t, findings[0].Err)
}

func TestDoctorSaysWhatIsWrong(t *testing.T) {
	config := testConfig(t)
	config.Database.URL = pgtest.URL(pgtest.Empty(t))
	config.Storage.URL = t.TempDir() + "/file/below"
	require.NoError(t, os.WriteFile(config.Storage.URL[:len(config.Storage.URL)-len("/below")], nil, 0o600))
	sick := map[string]manager.Finding{}
	for _, finding := range manager.Examine(t.Context(), config, nowhere(t)) {
		if finding.Err != nil {
			require.NotEmpty(t, finding.Fix, finding.What)
			sick[finding.What] = finding
		}
	}
	require.Len(t, sick, 4)
	require.Contains(t, sick["database"].Fix, "migrate up")
	require.Contains(t, sick["storage"].Fix, "storage.url")
}
