package manager_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// unmatched are, at one moment, runs and aborts without a record of success, and records of success without what they are of.
const unmatched = `
	WITH recorded AS (
		SELECT permission, unnest(resources) AS name FROM access_audit WHERE outcome = 'succeeded'
		UNION SELECT event::json->>'Permission', json_array_elements_text(event::json->'Resources') FROM access_audit_made),
	done AS (
		SELECT 'run.create' AS permission, 'run ' || project || '/' || domain || '/' || run_name AS name FROM actions WHERE parent_name IS NULL
		UNION SELECT 'run.abort', 'run ' || project || '/' || domain || '/' || run_name FROM actions
			WHERE parent_name IS NULL AND abort_reason <> ''),
	asked AS (SELECT * FROM recorded WHERE permission IN ('run.create', 'run.abort'))
	SELECT 'not recorded: ' || permission || ' ' || name FROM (TABLE done EXCEPT TABLE asked) a
	UNION ALL SELECT 'not done: ' || permission || ' ' || name FROM (TABLE asked EXCEPT TABLE done) b`

// TestRunsAndTheirRecordsAreCommittedTogether creates and aborts runs while the connections of the server to Postgres are killed, before
// and after commits. At no moment is there a run without its record, or a record of success without its run.
func TestRunsAndTheirRecordsAreCommittedTogether(t *testing.T) {
	var database string
	url := startWithRoles(t, func(c *configuration.Config) { database = c.Database.URL })
	conn, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) })
	matched := func() {
		t.Helper()
		rows, err := conn.Query(t.Context(), unmatched)
		require.NoError(t, err)
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		require.Empty(t, found)
	}
	matched()

	const runs, callers, kills = 240, 8, 20
	made := make(chan struct{}, 2*runs)
	var calling sync.WaitGroup
	ada := workflowconnect.NewRunServiceClient(as("ada"), url)
	again := func(call func() error) {
		for t.Context().Err() == nil {
			err := call()
			if err == nil {
				made <- struct{}{}
				return
			}
			if code := connect.CodeOf(err); code != connect.CodeUnavailable && code != connect.CodeDeadlineExceeded {
				t.Errorf("%v", err)
				return
			}
		}
	}
	for caller := range callers {
		calling.Go(func() {
			for i := caller; i < runs; i += callers {
				run := runOf("mine", fmt.Sprint("r", i))
				again(func() error { return createRun(t, ada, run) })
				if i%3 == 0 {
					again(func() error {
						_, err := ada.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: run})
						return err
					})
				}
			}
		})
	}
	for range kills {
		for range runs / kills {
			<-made
		}
		matched()
		_, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		require.NoError(t, err)
		matched()
	}
	calling.Wait()
	matched()

	require.Eventually(t, func() bool {
		var left int
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM access_audit_made`).Scan(&left))
		return left == 0
	}, 2*time.Minute, 10*time.Millisecond, "every record becomes part of the chain")
	verified, err := accessv1connect.NewAuditServiceClient(as("root"), url).VerifyAudit(t.Context(), &accessv1.VerifyAuditRequest{})
	require.NoError(t, err)
	require.Empty(t, verified.GetProblem())
	matched()
}
