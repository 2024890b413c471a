package manager_test

import (
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
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
