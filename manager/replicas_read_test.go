package manager_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

// TestListsAreReadFromAStandby: a client that has created a run finds it in the next list, whether the standby is up to date,
// lags or was promoted. An up-to-date standby serves the lists.
func TestListsAreReadFromAStandby(t *testing.T) {
	pair := pgtest.NewPair(t, false)
	config := apiConfig(t)
	config.Database.URL = pair.Primary.DSN()
	config.Database.ReadReplicas = []string{pair.Standby.DSN()}
	config.Database.ReplicaMaxWait = 500 * time.Millisecond
	url := startServer(t, config, nil)
	client := workflowconnect.NewRunServiceClient(http.DefaultClient, url)

	reads := func(outcome string) int {
		_, _, body := do(t, http.MethodGet, url+"/metrics", nil, nil)
		found := regexp.MustCompile(`(?m)^flyte_database_replica_reads_total\{.*outcome="` + outcome + `".*\} (\d+)`).FindStringSubmatch(body)
		if found == nil {
			return 0
		}
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		return n
	}
	number := 0
	createAndList := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		name := fmt.Sprint("r", number)
		number++
		require.NoError(t, createRun(t, client, runOf("flytesnacks", name)))
		list, err := client.ListRuns(ctx, &workflow.ListRunsRequest{
			Request: &common.ListRequest{Limit: 1, SortByFields: []*common.Sort{{Key: "created_at", Direction: common.Sort_DESCENDING}}},
			ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}},
		})
		require.NoError(t, err)
		require.Len(t, list.GetRuns(), 1)
		require.Equal(t, name, list.GetRuns()[0].GetAction().GetId().GetRun().GetName(), "the run that was just created")
		actions, err := client.ListActions(ctx, &workflow.ListActionsRequest{RunId: runOf("flytesnacks", name), Request: &common.ListRequest{Limit: 10}})
		require.NoError(t, err)
		require.Len(t, actions.GetActions(), 1)
	}

	require.Eventually(t, func() bool { createAndList(); return reads("replica") > 0 }, time.Minute, time.Millisecond, "the standby is used")
	for range 20 {
		createAndList()
	}

	pgtest.Exec(t, pair.Standby.DSN(), `SELECT pg_wal_replay_pause()`)
	createAndList()
	require.Positive(t, reads("primary: lagging"))
	pgtest.Exec(t, pair.Standby.DSN(), `SELECT pg_wal_replay_resume()`)
	before := reads("replica")
	require.Eventually(t, func() bool { createAndList(); return reads("replica") > before }, time.Minute, time.Millisecond, "it is used again")

	// A standby that was promoted goes its own way: nothing is read from it.
	pair.Promote()
	before = reads("replica")
	for range 3 {
		createAndList()
	}
	require.Equal(t, before, reads("replica"))
}
