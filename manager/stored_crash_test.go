//go:build failpoints

package manager_test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/test/s3test"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/runs/stored"
)

// The variables of the server that dies.
const (
	storedDatabase = "STORED_CRASH_DATABASE"
	storedS3       = "STORED_CRASH_S3"
)

// onS3 keeps data in a bucket and limits one project, which it measures as fast as it can.
func onS3(c *configuration.Config, endpoint string) {
	c.Storage = (&s3test.Server{URL: endpoint}).Config("s3://bucket/data")
	c.Runs.Stored.Projects = []stored.Project{{Project: "flytesnacks", Bytes: 1000}}
	c.Runs.Stored.RequestsPerSecond, c.Runs.Stored.Lease = 1000, 3*time.Second
}

// TestAMeasurementSurvivesItsServers: of three servers the first is killed in the middle of the listing of a bucket, the second when it has
// listed everything. The third ends the same measurement with the right number, and refuses a run.
func TestAMeasurementSurvivesItsServers(t *testing.T) {
	s3 := s3test.Start(t, "bucket")
	s3.Put(t, "bucket", "data/flytesnacks/development/r1.aaaaaaaaaaaaaaaa", 10_500)
	s3.Put(t, "bucket", "data/uploads/flytesnacks/development", 700)
	s3.Put(t, "bucket", "data/flytesnacks-x/development", 10)
	config := testConfig(t)
	db, err := pgx.Connect(t.Context(), config.Database.URL)
	require.NoError(t, err)
	defer db.Close(t.Context()) //nolint:errcheck // the test is over
	read := func() (began, measured *time.Time, pages, bytes, objects int64) {
		t.Helper()
		require.NoError(t, db.QueryRow(t.Context(), `SELECT began_at, measured_at, seen_pages, bytes, objects FROM stored WHERE project = 'flytesnacks'`).
			Scan(&began, &measured, &pages, &bytes, &objects))
		return began, measured, pages, bytes, objects
	}

	var first *time.Time
	for _, dies := range []struct {
		point string
		pages int64 // that are known afterwards
	}{{"stored.page", 10}, {"stored.before-finish", 12}} {
		armed := filepath.Join(t.TempDir(), "armed")
		require.NoError(t, os.WriteFile(armed, []byte(dies.point+" 1"), 0o600))
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestTheServerThatMeasures$", "-test.v", "-test.timeout", "5m")
		child.Env = append(os.Environ(), storedDatabase+"="+config.Database.URL, storedS3+"="+s3.URL, failpoint.FileEnv+"="+armed)
		said, err := child.CombinedOutput()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit, "%s", said)
		require.Equal(t, -1, exit.ExitCode(), "%s is not passed: %s", dies.point, said)
		began, measured, pages, _, _ := read()
		require.Nil(t, measured, dies.point)
		require.NotNil(t, began, dies.point)
		require.Equal(t, dies.pages, pages, dies.point)
		if first == nil {
			first = began
		}
		require.Equal(t, first, began, "%s: the same measurement", dies.point)
	}

	onS3(&config, s3.URL)
	url := startServer(t, config, nowhere(t))
	require.Eventually(t, func() bool {
		_, measured, _, _, _ := read()
		return measured != nil
	}, 2*time.Minute, 20*time.Millisecond)
	_, measured, _, bytes, objects := read()
	require.Equal(t, first, measured, "nothing was listed again")
	require.Equal(t, []int64{22_400, 11_200}, []int64{bytes, objects})
	err = createRun(t, workflowconnect.NewRunServiceClient(http.DefaultClient, url), runOf("flytesnacks", "full"))
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "project flytesnacks has 22400 bytes in the object store, measured at")
	require.ErrorContains(t, err, "and may have 1000 (runs.stored.projects)")
}

// TestTheServerThatMeasures is what the test above starts.
func TestTheServerThatMeasures(t *testing.T) {
	if os.Getenv(storedS3) == "" {
		t.Skip("it is started by TestAMeasurementSurvivesItsServers")
	}
	config := testConfig(t)
	config.Database.URL = os.Getenv(storedDatabase)
	onS3(&config, os.Getenv(storedS3))
	startServer(t, config, nowhere(t))
	<-t.Context().Done() // it dies, or its parent sees that it does not
}
