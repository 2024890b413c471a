package manager_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

// TestAFailoverLosesNothing: two replicas take runs without a pause while the primary of their database freezes and its
// synchronous standby is promoted; then the old primary wakes up again. Every run that was acknowledged is in the new
// primary, once, and a watch shows all of them. Callers see nothing but errors that say that the call may be repeated.
func TestAFailoverLosesNothing(t *testing.T) {
	const callers, before, after = 6, 60, 60
	pair := pgtest.NewPair(t, true)
	config := apiConfig(t)
	config.Database.URL, config.Database.ConnectTimeout = pair.URL(), 2*time.Second
	config.Runs.Writer.CommitTimeout = 5 * time.Second
	config.Replicas.Several = true
	urls := []string{startServer(t, config, nil), startServer(t, config, nil)}

	watched := watchRuns(t, urls[1])
	var acknowledged sync.Map
	var count atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	for caller := range callers {
		client := workflowconnect.NewRunServiceClient(http.DefaultClient, urls[caller%len(urls)])
		calling.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				name := fmt.Sprintf("r%d-%d", caller, n)
				for ctx.Err() == nil {
					err := createRun(t, client, runOf("flytesnacks", name))
					if err == nil {
						acknowledged.Store(name, true)
						count.Add(1)
						break
					}
					if code := connect.CodeOf(err); code != connect.CodeUnavailable {
						t.Errorf("%s: %v", name, err)
						return
					}
				}
			}
		})
	}
	enough := func(n int64) func() bool { return func() bool { return t.Failed() || count.Load() >= n } }
	require.Eventually(t, enough(before), time.Minute, time.Millisecond)
	pgtest.Freeze(pair.Primary)
	defer pgtest.Thaw(pair.Primary)
	pair.Promote()
	promoted := count.Load()
	require.Eventually(t, enough(promoted+after), time.Minute, time.Millisecond, "runs are taken again")
	pgtest.Thaw(pair.Primary)
	require.Eventually(t, enough(count.Load()+after), time.Minute, time.Millisecond, "the old primary changes nothing")
	stop()
	calling.Wait()
	require.False(t, t.Failed())

	conn, err := pgx.Connect(t.Context(), pair.Standby.DSN())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	rows, err := conn.Query(t.Context(), `SELECT run_name FROM actions WHERE parent_name IS NULL`)
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	stored := map[string]bool{}
	for _, name := range names {
		require.False(t, stored[name], "%s is there twice", name)
		stored[name] = true
	}
	acknowledged.Range(func(name, _ any) bool {
		require.True(t, stored[name.(string)], "%s was acknowledged and is lost", name)
		return true
	})
	require.Eventually(t, func() bool {
		complete := true
		acknowledged.Range(func(name, _ any) bool {
			_, seen := watched.Load(name)
			complete = complete && seen
			return complete
		})
		return complete
	}, time.Minute, 10*time.Millisecond, "the watch shows every run")
}

// watchRuns collects the names of the runs that a client sees, who opens the watch again when it ends.
func watchRuns(t *testing.T, url string) *sync.Map {
	t.Helper()
	seen := &sync.Map{}
	ctx, cancel := context.WithCancel(t.Context())
	client := workflowconnect.NewRunServiceClient(http.DefaultClient, url)
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			stream, err := client.WatchRuns(ctx, &workflow.WatchRunsRequest{
				Target: &workflow.WatchRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}},
			})
			if err != nil {
				continue
			}
			for stream.Receive() {
				for _, run := range stream.Msg().GetRuns() {
					seen.Store(run.GetAction().GetId().GetRun().GetName(), true)
				}
			}
			if err := stream.Err(); err != nil && ctx.Err() == nil && connect.CodeOf(err) != connect.CodeUnavailable {
				t.Errorf("the watch ended with %v", err)
			}
			_ = stream.Close() // it has ended
		}
	})
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	return seen
}
