//go:build failpoints

package manager_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// The variables of the process that dies.
const (
	crashDatabase  = "AUDIT_CRASH_DATABASE"
	crashProcedure = "AUDIT_CRASH_PROCEDURE"
	crashPoint     = "AUDIT_CRASH_POINT"
	crashFile      = "FLYTE_FAILPOINTS"
)

// writing are the procedures whose change the batched writer of runs makes.
func writing(procedure string) bool {
	for _, service := range []string{started, tracked, children, queued} {
		if strings.HasPrefix(procedure, service) {
			return true
		}
	}
	return false
}

// pointsOf are the points at which the process dies that makes a change, the last of them first: it tells what the change is.
func pointsOf(procedure string) []string {
	switch {
	case audit.Manner(procedure) == "around":
		return []string{"audit.before-chain", "audit.before-end", "audit.after-begin"}
	case writing(procedure):
		return []string{"writer.after-commit", "writer.before-commit"}
	default:
		return []string{"audit.before-chain", "change.after-commit", "change.before-commit", "change.before-record"}
	}
}

// TestACrashLeavesNoChangeWithoutItsRecord: a server is killed at each step of each change. The change is there if and only if its
// record is; where the record is around the change, it is there before the call is handled. In each case the record becomes part of the
// chain.
func TestACrashLeavesNoChangeWithoutItsRecord(t *testing.T) {
	kills := &atomic.Int32{}
	tried := 0
	t.Cleanup(func() { t.Logf("%d procedures, %d servers killed", tried, kills.Load()) })
	for _, procedure := range changing() {
		t.Run(strings.TrimPrefix(procedure, "/"), func(t *testing.T) {
			if why := exempt(procedure); why != "" {
				t.Skip(why)
			}
			tried++
			t.Parallel()
			var changes []string // the tables that the change is in
			for i, point := range pointsOf(procedure) {
				changed, outcome := crash(t, procedure, point)
				kills.Add(1)
				switch {
				case audit.Manner(procedure) == "around":
					require.Equal(t, "unknown", outcome, point)
					continue
				case i == 0:
					changes = changed
				}
				if strings.Contains(point, ".before-") && point != "audit.before-chain" {
					require.Empty(t, outcome, "a record of success without its change, after %s", point)
					for _, table := range changes {
						require.True(t, table == samples[procedure].counts || !slices.Contains(changed, table), "%s was changed without a record, after %s", table, point)
					}
					continue
				}
				require.Equal(t, "succeeded", outcome, "a change without its record, after %s", point)
				require.NotEmpty(t, changed, point)
			}
		})
	}
}

// exempt is why no server can die between the change of a procedure and its record; empty if one can.
func exempt(procedure string) string {
	switch {
	case samples[procedure].refused != 0:
		return fmt.Sprintf("this server refuses it always, with the status %d: there is no change", samples[procedure].refused)
	case audit.Manner(procedure) == "after":
		return "it changes no table, which TestChangesAndTheirRecordsAreOneTransaction checks: its record is stored after the call"
	default:
		return ""
	}
}

// crash has a server die that makes a change, and returns the tables that it has changed then, and the outcome in the record after the
// keeper was there; empty if there is no record.
func crash(t *testing.T, procedure, point string) (changed []string, outcome string) {
	t.Helper()
	pool := pgtest.Schemas(t, manager.Schemas()...)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestTheServerThatDies$", "-test.v", "-test.timeout", "10m")
	child.Env = append(os.Environ(), crashDatabase+"="+pgtest.URL(pool), crashProcedure+"="+procedure, crashPoint+"="+point, crashFile+"="+filepath.Join(t.TempDir(), "armed"))
	said, err := child.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", said)
	require.Equal(t, -1, exit.ExitCode(), "%s is passed by %s: %s", point, procedure, said)

	rows, err := pool.Query(t.Context(), `SELECT DISTINCT tbl FROM noted
		WHERE id > (SELECT min(id) FROM noted WHERE tbl = 'armed') AND tbl NOT IN ('armed', 'record') AND (
			tx IN (SELECT tx FROM noted WHERE request = 'the last call') OR NOT EXISTS (SELECT FROM noted WHERE request = 'the last call'))`)
	require.NoError(t, err)
	changed, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)

	s := store.New(pool, clock.System{})
	later := time.Now().Add(time.Hour)
	_, err = s.EndLostAudit(t.Context(), store.LostAudit{Made: later, Begun: later, End: store.AuditEvent{Outcome: "unknown"}}, 1000, audit.Seal)
	require.NoError(t, err)
	events, err := s.SearchAudit(t.Context(), store.AuditFilter{Limit: 1000})
	require.NoError(t, err)
	for _, event := range events {
		if event.RequestID == "the last call" {
			require.Empty(t, outcome, "one event")
			require.Equal(t, procedure, event.Procedure)
			outcome = event.Outcome
		}
	}
	verified, err := audit.Verify(t.Context(), s)
	require.NoError(t, err)
	require.Empty(t, verified.Problem)
	return changed, outcome
}

// TestTheServerThatDies is what the test above starts.
func TestTheServerThatDies(t *testing.T) {
	procedure := os.Getenv(crashProcedure)
	if procedure == "" {
		t.Skip("it is started by TestACrashLeavesNoChangeWithoutItsRecord")
	}
	a := startAudited(t, func(c *configuration.Config) { c.Database.URL = os.Getenv(crashDatabase) })
	body := a.prepare(procedure, "name")
	// The records of the preparation are part of the chain, so that the writer of the chain comes for that of the call.
	require.Eventually(t, func() bool {
		var left int
		require.NoError(t, a.db.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM access_audit_open) + (SELECT count(*) FROM access_audit_made)`).Scan(&left))
		return left == 0
	}, time.Minute, 10*time.Millisecond)
	a.exec(`INSERT INTO noted (tx, tbl) VALUES (pg_current_xact_id(), 'armed')`)
	require.NoError(t, os.WriteFile(os.Getenv(crashFile), []byte(os.Getenv(crashPoint)+" 1"), 0o600))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url+procedure, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Request-Id", "the last call")
	response, err := as(strings.ReplaceAll(cmp.Or(samples[procedure].person, "root"), "NAME", "name")).Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	<-t.Context().Done() // it dies when the record is added to the chain, or its parent sees that it does not
}
