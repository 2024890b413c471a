package limits_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/limits"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// TestUses: what is left of a limit is what the next calls are allowed.
func TestUses(t *testing.T) {
	l, clk := limiter(t, limits.Config{RequestsPerSecond: 2, Streams: 3, RunsPerMinute: 60, ProjectRunsPerMinute: 4, ProjectRequestsPerSecond: 5})
	left := func(identity authz.Identity, project string) map[string]int {
		found := map[string]int{}
		for _, use := range l.Uses(identity, project) {
			found[use.Project+" "+use.Setting] = use.Left
		}
		return found
	}
	idle := map[string]int{
		" access.limits.requestsPerSecond": 20, " access.limits.streams": 3, " access.limits.requestBytes": 0, " access.limits.runsPerMinute": 60,
		" access.limits.uploadsPerMinute": 0,
	}
	ofProject := func(project string, requests, runs int) map[string]int {
		return map[string]int{
			project + " access.limits.projectRequestsPerSecond": requests, project + " access.limits.projectStreams": 0,
			project + " access.limits.projectRequestBytes": 0, project + " access.limits.projectRunsPerMinute": runs,
			project + " access.limits.projectUploadsPerMinute": 0,
		}
	}
	require.Equal(t, idle, left(ada, ""))
	for range 5 {
		require.NoError(t, l.Request(t.Context(), ada))
	}
	leave, err := l.Stream(t.Context(), ada)
	require.NoError(t, err)
	require.NoError(t, call(t, l, ada, "run.create", authz.Resource{Kind: "run", Project: "p"}))
	used := map[string]int{
		" access.limits.requestsPerSecond": 15, " access.limits.streams": 2, " access.limits.requestBytes": 0, " access.limits.runsPerMinute": 59,
		" access.limits.uploadsPerMinute": 0,
	}
	maps.Copy(used, ofProject("p", 49, 3))
	require.Equal(t, used, left(ada, "p"))
	require.Equal(t, idle, left(bob, ""), "others have limits of their own")
	require.Equal(t, 3, left(bob, "p")["p access.limits.projectRunsPerMinute"], "and share that of the project")
	require.Equal(t, ofProject("q", 50, 4), left(task, "q"), "tasks count for their project alone")

	leave()
	clk.Step(400 * time.Millisecond)
	require.Equal(t, 15, left(ada, "")[" access.limits.requestsPerSecond"], "part of a request is none")
	clk.Step(100 * time.Millisecond)
	require.Equal(t, 16, left(ada, "")[" access.limits.requestsPerSecond"])
	for range 16 {
		require.NoError(t, l.Request(t.Context(), ada))
	}
	require.Zero(t, left(ada, "")[" access.limits.requestsPerSecond"])
	require.Error(t, l.Request(t.Context(), ada))
	clk.Step(time.Minute)
	require.Equal(t, idle, left(ada, ""))
}

// TestUsesSayWhatTheLimitIs: the number, the time it is for, and its setting.
func TestUsesSayWhatTheLimitIs(t *testing.T) {
	l, _ := limiter(t, limits.Config{RequestsPerSecond: 2, RequestBytes: 100, ProjectRunsPerMinute: 4})
	uses := l.Uses(ada, "p")
	require.Equal(t, limits.Use{Things: "requests", Setting: "access.limits.requestsPerSecond", Most: 2, Per: time.Second, Burst: 20, Left: 20}, uses[0])
	require.Equal(t, limits.Use{Things: "streams", Setting: "access.limits.streams"}, uses[1], "no limit")
	require.Equal(t, limits.Use{Things: "request bytes", Setting: "access.limits.requestBytes", Most: 100, Each: true}, uses[2])
	require.Contains(t, uses, limits.Use{
		Things: "runs", Project: "p", Setting: "access.limits.projectRunsPerMinute", Most: 4, Per: time.Minute, Burst: 4, Left: 4,
	})
}
