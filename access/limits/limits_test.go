package limits_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/access/limits"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

var (
	ada  = authz.Identity{Kind: authz.User, Subject: "ada"}
	bob  = authz.Identity{Kind: authz.User, Subject: "bob"}
	key  = authz.Identity{Kind: authz.Key, Subject: "ada"} // the name of a person is another caller
	task = authz.Identity{Kind: authz.Task, Attempt: &authz.Attempt{Project: "p"}}
)

func limiter(t *testing.T, config limits.Config) (*limits.Limiter, *clock.Fake) {
	t.Helper()
	clk := clock.NewFake(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
	l, err := limits.New(config, clk, noop.NewMeterProvider())
	require.NoError(t, err)
	return l, clk
}

// inP is something in project p.
var inP = authz.Resource{Project: "p"}

// call makes a call of 100 bytes.
func call(t *testing.T, l *limits.Limiter, identity authz.Identity, permission string, resources ...authz.Resource) error {
	t.Helper()
	return l.Call(t.Context(), identity, authz.Call{Rule: authz.Rule{Action: permission}, Resources: resources, Size: func() int { return 100 }})
}

// refused checks that err says what is reached, and returns when to try again.
func refused(t *testing.T, err error, words ...string) time.Duration {
	t.Helper()
	var reached *rpc.Error
	require.ErrorAs(t, err, &reached)
	require.Equal(t, rpc.KindResourceExhausted, reached.Kind)
	for _, word := range words {
		require.Contains(t, reached.Message, word)
	}
	return reached.RetryAfter
}

func TestRequestsAreCountedByCaller(t *testing.T) {
	l, clk := limiter(t, limits.Config{RequestsPerSecond: 2})
	for range 20 {
		require.NoError(t, l.Request(t.Context(), ada), "an idle caller may make the requests of ten seconds")
	}
	wait := refused(t, l.Request(t.Context(), ada), "user ada", "2 requests a second", "access.limits.requestsPerSecond", "try again in 500ms")
	require.Equal(t, 500*time.Millisecond, wait)
	for _, other := range []authz.Identity{bob, key} {
		require.NoError(t, l.Request(t.Context(), other))
	}
	clk.Step(wait)
	require.NoError(t, l.Request(t.Context(), ada), "after the time that the refusal named")
	refused(t, l.Request(t.Context(), ada))
	clk.Step(time.Hour)
	for range 20 {
		require.NoError(t, l.Request(t.Context(), ada))
	}
	refused(t, l.Request(t.Context(), ada))
}

func TestStreamsAreCountedWhileTheyAreOpen(t *testing.T) {
	l, _ := limiter(t, limits.Config{Streams: 2})
	first, err := l.Stream(t.Context(), ada)
	require.NoError(t, err)
	_, err = l.Stream(t.Context(), ada)
	require.NoError(t, err)
	_, err = l.Stream(t.Context(), ada)
	require.Positive(t, refused(t, err, "user ada", "2 open streams", "access.limits.streams"))
	_, err = l.Stream(t.Context(), bob)
	require.NoError(t, err)
	first()
	_, err = l.Stream(t.Context(), ada)
	require.NoError(t, err)
}

func TestRunsAreCountedByCallerAndByProject(t *testing.T) {
	l, clk := limiter(t, limits.Config{RunsPerMinute: 2, ProjectRunsPerMinute: 3})
	create := func(identity authz.Identity, project string) error {
		return call(t, l, identity, "run.create", authz.Resource{Project: "library", Permission: "task.view"}, authz.Resource{Project: project})
	}
	require.NoError(t, create(ada, "p"))
	require.NoError(t, create(ada, "p"))
	wait := refused(t, create(ada, "other"), "user ada", "2 runs a minute", "access.limits.runsPerMinute", "try again in 30s")
	require.Equal(t, 30*time.Second, wait)
	require.NoError(t, create(task, "p"), "a task counts for its project alone")
	wait = refused(t, create(task, "p"), "3 runs a minute", "project p", "access.limits.projectRunsPerMinute")
	require.Equal(t, 20*time.Second, wait)
	refused(t, create(authz.Identity{}, "p"), "project p")
	require.NoError(t, create(bob, "other"))
	require.NoError(t, call(t, l, ada, "run.view", inP), "only new runs count")
	clk.Step(wait)
	require.NoError(t, create(task, "p"))
}

func TestUploadsAreCountedByCallerAndByProject(t *testing.T) {
	l, clk := limiter(t, limits.Config{RunsPerMinute: 1, UploadsPerMinute: 2, ProjectUploadsPerMinute: 3})
	upload := func(identity authz.Identity, project string) error {
		return call(t, l, identity, "data.upload", authz.Resource{Project: project})
	}
	require.NoError(t, upload(ada, "p"))
	require.NoError(t, upload(ada, "p"))
	require.NoError(t, call(t, l, ada, "run.create", inP), "runs are counted by themselves")
	wait := refused(t, upload(ada, "other"), "user ada requests more than 2 uploads a minute", "access.limits.uploadsPerMinute", "try again in 30s")
	require.Equal(t, 30*time.Second, wait)
	require.NoError(t, upload(task, "p"))
	wait = refused(t, upload(task, "p"), "more than 3 uploads a minute are requested in project p", "access.limits.projectUploadsPerMinute")
	require.NoError(t, upload(bob, "other"))
	clk.Step(wait)
	require.NoError(t, upload(task, "p"))
}

func TestRequestsAreCountedByProject(t *testing.T) {
	l, clk := limiter(t, limits.Config{ProjectRequestsPerSecond: 1})
	for i := range 10 {
		require.NoError(t, call(t, l, []authz.Identity{ada, bob, key, task, {}}[i%5], "run.view", inP), "all callers have the limit together")
	}
	wait := refused(t, call(t, l, task, "run.view", inP), "project p gets more than 1 requests a second", "access.limits.projectRequestsPerSecond", "try again in 1s")
	require.Equal(t, time.Second, wait)
	_, err := l.Names(t.Context(), ada, "p")
	refused(t, err, "project p gets more than 1 requests a second")
	require.NoError(t, call(t, l, ada, "run.view", authz.Resource{Project: "other"}))
	require.NoError(t, call(t, l, ada, "run.view", authz.Resource{}), "a list over projects")
	require.NoError(t, call(t, l, ada, "run.view", authz.Resource{Project: "p", Permission: "task.view"}), "a task of p that is used elsewhere")
	clk.Step(wait)
	require.NoError(t, call(t, l, bob, "run.view", inP))
}

func TestStreamsAreCountedByProject(t *testing.T) {
	l, _ := limiter(t, limits.Config{ProjectStreams: 2})
	first, err := l.Names(t.Context(), ada, "p")
	require.NoError(t, err)
	_, err = l.Names(t.Context(), task, "p")
	require.NoError(t, err)
	_, err = l.Names(t.Context(), bob, "p")
	require.Positive(t, refused(t, err, "project p has 2 open streams", "access.limits.projectStreams", "end some, or try again in 5s"))
	_, err = l.Names(t.Context(), bob, "other")
	require.NoError(t, err)
	first()
	_, err = l.Names(t.Context(), bob, "p")
	require.NoError(t, err)
}

func TestRequestsHaveASize(t *testing.T) {
	l, _ := limiter(t, limits.Config{RequestBytes: 99, ProjectRequestBytes: 99})
	require.Zero(t, refused(t, call(t, l, ada, "run.view"), "the request of user ada has more than 99 bytes", "access.limits.requestBytes"), "later it is as large")
	require.Zero(t, refused(t, call(t, l, task, "run.view", inP), "the request in project p has more than 99 bytes", "access.limits.projectRequestBytes"))
	require.NoError(t, call(t, l, task, "run.view"))
	l, _ = limiter(t, limits.Config{RequestBytes: 100, ProjectRequestBytes: 100})
	require.NoError(t, call(t, l, ada, "run.view", inP))
}

func TestPartsOfTheInstallationHaveNoLimits(t *testing.T) {
	l, _ := limiter(t, limits.Config{RequestsPerSecond: 1, Streams: 1, RequestBytes: 1, RunsPerMinute: 1})
	none, _ := limiter(t, limits.Config{ProjectRequestsPerSecond: 1, ProjectStreams: 1, ProjectRequestBytes: 1, ProjectRunsPerMinute: 1})
	for _, kind := range []authz.Kind{authz.Worker, authz.Cluster, authz.Service} {
		for range 100 {
			require.NoError(t, call(t, none, authz.Identity{Kind: kind}, "run.create", inP))
			_, err := none.Names(t.Context(), authz.Identity{Kind: kind}, "p")
			require.NoError(t, err)
		}
	}
	for _, kind := range []authz.Kind{authz.Anonymous, authz.Task, authz.Worker, authz.Cluster, authz.Service} {
		for range 100 {
			identity := authz.Identity{Kind: kind, Subject: "one"}
			require.NoError(t, l.Request(t.Context(), identity))
			require.NoError(t, call(t, l, identity, "run.create", inP))
			_, err := l.Stream(t.Context(), identity)
			require.NoError(t, err)
		}
	}
}

func TestZeroIsNoLimit(t *testing.T) {
	l, _ := limiter(t, limits.Config{})
	for range 10_000 {
		require.NoError(t, l.Request(t.Context(), ada))
		require.NoError(t, call(t, l, ada, "run.create", inP))
	}
}

func TestCallersThatAreIdleAreForgotten(t *testing.T) {
	l, clk := limiter(t, limits.Config{RequestsPerSecond: 1})
	most := 0
	for i := range 50_000 {
		require.NoError(t, l.Request(t.Context(), authz.Identity{Kind: authz.User, Subject: fmt.Sprint(i)}))
		clk.Step(100 * time.Millisecond)
		most = max(most, l.Known())
	}
	require.LessOrEqual(t, most, 1024)
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	require.NoError(t, limits.DefaultConfig().Validate())
	require.NoError(t, limits.Config{}.Validate())
	err := limits.Config{RequestsPerSecond: -1, Streams: 2_000_000}.Validate()
	require.ErrorContains(t, err, "requestsPerSecond: must be between 0 and 1000000, got -1")
	require.ErrorContains(t, err, "streams:")
}

// BenchmarkRequest is the cost of the limit for each request.
func BenchmarkRequest(b *testing.B) {
	l, err := limits.New(limits.Config{RequestsPerSecond: 1_000_000}, clock.System{}, noop.NewMeterProvider())
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		_ = l.Request(b.Context(), ada)
	}
}
