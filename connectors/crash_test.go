//go:build failpoints

package connectors_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/connectors"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	runstore "github.com/flyte-binary/flyte-binary/runs/store"
)

// The variables of the process that dies.
const (
	dsnVariable       = "CONNECTORS_CRASH_DSN"
	folderVariable    = "CONNECTORS_CRASH_FOLDER"
	addrVariable      = "CONNECTORS_CRASH_CONNECTOR"
	abortVariable     = "CONNECTORS_CRASH_ABORT"
	failpointVariable = "FLYTE_FAILPOINTS"
)

// TestACrashAtEachStepLeavesOneJob: a process of runs and connectors is killed at a point, and another one continues. There is one job
// for the attempt, whatever was durable; after an abort it is deleted.
func TestACrashAtEachStepLeavesOneJob(t *testing.T) {
	for _, tc := range []struct {
		point string
		abort bool
	}{
		{point: "connectors.before-intent"}, {point: "connectors.after-intent"}, {point: "connectors.after-create"}, {point: "connectors.after-meta"},
		{point: "connectors.after-phase"}, {point: "connectors.after-outputs"}, {point: "connectors.after-end"},
		{point: "connectors.after-create", abort: true}, {point: "connectors.after-phase", abort: true}, {point: "connectors.after-delete", abort: true},
	} {
		name := tc.point
		if tc.abort {
			name += " and an abort"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFake(t, "batch_job")
			looks := 0
			fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
			fake.get = func(j *fakeJob) error {
				if looks++; looks > 3 && !tc.abort {
					j.state = success()
				}
				return nil
			}
			db := pgtest.Schemas(t, runstore.Schema(), store.Schema())
			folder := t.TempDir()
			armed := filepath.Join(folder, "armed")
			require.NoError(t, os.WriteFile(armed, []byte(tc.point+" 1"), 0o600))
			deaths := 0
			for {
				child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestTheProcessThatDies$", "-test.v")
				child.Env = append(os.Environ(), dsnVariable+"="+pgtest.URL(db), folderVariable+"="+folder, addrVariable+"="+fake.addr, failpointVariable+"="+armed)
				if tc.abort {
					child.Env = append(child.Env, abortVariable+"=1")
				}
				said, err := child.CombinedOutput()
				if err == nil {
					break
				}
				var exit *exec.ExitError
				require.ErrorAs(t, err, &exit)
				require.Equal(t, -1, exit.ExitCode(), "%s", said) // killed
				deaths++
				require.Less(t, deaths, 3, "%s", said)
			}
			require.Equal(t, 1, deaths, "the process passes the point")
			require.Equal(t, tc.abort, fake.has(1)[0].deleted)
			var phase, attempt int
			require.NoError(t, db.QueryRow(context.WithoutCancel(t.Context()), `SELECT phase, attempt FROM actions`).Scan(&phase, &attempt))
			require.Equal(t, 1, attempt)
			if tc.abort {
				require.EqualValues(t, aborted, phase)
			} else {
				require.EqualValues(t, succeeded, phase)
			}
		})
	}
}

// TestTheProcessThatDies is what the test above starts: it makes the run, if that is not there yet, and ends when nothing is left to do.
func TestTheProcessThatDies(t *testing.T) {
	dsn := os.Getenv(dsnVariable)
	if dsn == "" {
		t.Skip("it is started by TestACrashAtEachStepLeavesOneJob")
	}
	config := pgdb.DefaultConfig()
	config.URL, config.MaxConns, config.MinIdleConns = dsn, 8, 0
	db, err := pgdb.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	f := newFixtureOn(t, db, filepath.Join(os.Getenv(folderVariable), "blobs"), func(c *connectors.Config) {
		c.Endpoints = []connectors.Endpoint{{Name: "batch", URL: "http://" + os.Getenv(addrVariable)}}
		c.MinPoll = 100 * time.Millisecond
	})
	f.serves("batch_job")
	if err := f.create("r", job()); err != nil {
		var told *connect.Error
		require.True(t, errors.As(err, &told) && told.Code() == connect.CodeAlreadyExists, "%v", err)
	}
	if os.Getenv(abortVariable) != "" {
		f.eventually("it runs or has ended", func() bool { return f.details("r").GetStatus().GetPhase() >= running })
		_, err := f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: actionID("r").GetRun()})
		require.NoError(t, err)
	}
	f.eventually("it has ended", func() bool { return f.details("r").GetStatus().GetPhase() > running })
	f.forgotten()
}
