package runs_test

import (
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

var measuredFrom = time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)

// used is a measurement of processors and memory, some seconds after the first.
func used(second int, milli, memory uint64) *insightv1.UsagePoint {
	return &insightv1.UsagePoint{
		At:   timestamppb.New(measuredFrom.Add(time.Duration(second) * time.Second)),
		Used: &insightv1.Amounts{CpuMilli: &milli, MemoryBytes: &memory},
	}
}

// uid is the database id of the root action of a run.
func (c *writeFixture) uid(run string) int64 {
	c.t.Helper()
	return int64(c.count(`SELECT id FROM actions WHERE run_name = $1 AND parent_name IS NULL`, run))
}

// measured reports measurements of an attempt that requests half a core and 128 MiB.
func (c *writeFixture) measured(uid int64, attempt uint32, points ...*insightv1.UsagePoint) {
	c.t.Helper()
	_, err := c.engine.RecordUsage(c.t.Context(), &enginev1.RecordUsageRequest{Usages: []*enginev1.AttemptUsage{{
		Uid: uid, Attempt: attempt, Points: points,
		Requests: &insightv1.Amounts{CpuMilli: proto.Uint64(500), MemoryBytes: proto.Uint64(128 << 20)},
		Limits:   &insightv1.Amounts{MemoryBytes: proto.Uint64(256 << 20)},
	}}})
	require.NoError(c.t, err)
}

func (c *writeFixture) usage(run, action string, attempt uint32) *insightv1.GetAttemptUsageResponse {
	c.t.Helper()
	response, err := c.insight.GetAttemptUsage(c.t.Context(), &insightv1.GetAttemptUsageRequest{ActionId: actionID(run, action), Attempt: attempt})
	require.NoError(c.t, err)
	return response
}

func TestWhatAnAttemptUsedIsKept(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("used"))
	uid := c.uid("used")
	require.Contains(t, c.usage("used", "a0", 0).GetNote(), "doctor")

	c.measured(uid, 1, used(0, 100, 50<<20), used(15, 400, 200<<20))
	c.measured(uid, 1, used(0, 100, 50<<20), used(15, 400, 200<<20), used(30, 200, 100<<20)) // the answer was lost, and it is sent again
	got := c.usage("used", "a0", 0)
	require.Len(t, got.GetPoints(), 3)
	require.Equal(t, measuredFrom.Add(30*time.Second), got.GetPoints()[2].GetAt().AsTime())
	require.EqualValues(t, 100<<20, got.GetPoints()[2].GetUsed().GetMemoryBytes())
	require.EqualValues(t, 400, got.GetPeaks().GetCpuMilli())
	require.EqualValues(t, 200<<20, got.GetPeaks().GetMemoryBytes())
	require.Nil(t, got.GetPeaks().DiskBytes)
	require.EqualValues(t, 500, got.GetRequests().GetCpuMilli())
	require.Nil(t, got.GetLimits().CpuMilli)
	require.EqualValues(t, 256<<20, got.GetLimits().GetMemoryBytes())
	require.Equal(t, 9*time.Second, got.GetCpuTime().AsDuration()) // 15 s at 0.4 and 15 s at 0.2
	require.False(t, got.GetOutOfMemory())
	require.Empty(t, got.GetNote())

	// Actions that are gone are ignored, and the rest counts.
	_, err := c.engine.RecordUsage(t.Context(), &enginev1.RecordUsageRequest{Usages: []*enginev1.AttemptUsage{
		{Uid: uid + 1_000_000, Attempt: 1, Points: []*insightv1.UsagePoint{used(0, 1, 1)}},
		{Uid: uid, Attempt: 2, Points: []*insightv1.UsagePoint{used(60, 1, 1<<20)}},
	}})
	require.NoError(t, err)
	require.Equal(t, []uint32{1, 2}, c.usage("used", "a0", 0).GetMeasuredAttempts())
	require.EqualValues(t, 2, c.usage("used", "a0", 0).GetAttempt())
	require.Len(t, c.usage("used", "a0", 1).GetPoints(), 3)
	require.NotEmpty(t, c.usage("used", "a0", 3).GetNote())
}

// TestTheFirstMeasurementCountsFromTheStart: one measurement of an attempt whose start is known is enough for its mean.
func TestTheFirstMeasurementCountsFromTheStart(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("short"))
	uid := c.uid("short")
	record := func(attempt uint32, since time.Duration, points ...*insightv1.UsagePoint) {
		t.Helper()
		_, err := c.engine.RecordUsage(t.Context(), &enginev1.RecordUsageRequest{Usages: []*enginev1.AttemptUsage{
			{Uid: uid, Attempt: attempt, Points: points, Since: timestamppb.New(measuredFrom.Add(since))},
		}})
		require.NoError(t, err)
	}
	record(1, -8*time.Second, used(0, 500, 50<<20))
	got := c.usage("short", "a0", 1)
	require.Len(t, got.GetPoints(), 1)
	require.Equal(t, 4*time.Second, got.GetCpuTime().AsDuration())
	require.Equal(t, 8000, c.count(`SELECT measured_ms FROM attempt_usage WHERE attempt = 1`))

	record(1, -time.Hour, used(4, 250, 50<<20)) // of another replica, which knows only when the attempt started
	require.Equal(t, 5*time.Second, c.usage("short", "a0", 1).GetCpuTime().AsDuration())
	record(2, time.Second, used(0, 500, 50<<20)) // by a clock that is wrong
	record(3, -time.Hour, used(0, 500, 50<<20))
	require.Equal(t, 0, c.count(`SELECT sum(measured_ms) FROM attempt_usage WHERE attempt > 1`))
}

func TestMeasurementsThatMakeNoSenseAreRefused(t *testing.T) {
	c := newWriteFixture(t, nil)
	point := used(0, 1, 1)
	_, err := c.engine.RecordUsage(t.Context(), &enginev1.RecordUsageRequest{Usages: []*enginev1.AttemptUsage{{Uid: 1, Attempt: 1}, {Uid: 1, Attempt: 1}}})
	refused(t, err, connect.CodeInvalidArgument, "usages[1]")
	_, err = c.engine.RecordUsage(t.Context(), &enginev1.RecordUsageRequest{Usages: []*enginev1.AttemptUsage{
		{Uid: 1, Attempt: 1, Points: []*insightv1.UsagePoint{point, {Used: point.GetUsed()}}},
	}})
	refused(t, err, connect.CodeInvalidArgument, "usages[0].points[1].at")
	_, err = c.engine.RecordUsage(t.Context(), &enginev1.RecordUsageRequest{Usages: []*enginev1.AttemptUsage{
		{Uid: 1, Attempt: 1, Since: &timestamppb.Timestamp{Nanos: -1}},
	}})
	refused(t, err, connect.CodeInvalidArgument, "usages[0].since")
	_, err = c.engine.RecordUsage(t.Context(), &enginev1.RecordUsageRequest{Usages: []*enginev1.AttemptUsage{{Uid: 1}}})
	refused(t, err, connect.CodeInvalidArgument, "attempt")
	_, err = c.insight.GetAttemptUsage(t.Context(), &insightv1.GetAttemptUsageRequest{ActionId: actionID("none", "a0")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	_, err = c.insight.GetAttemptUsage(t.Context(), &insightv1.GetAttemptUsageRequest{})
	refused(t, err, connect.CodeInvalidArgument, "action_id")
}

func TestATaskIsToldWhatItCouldRequest(t *testing.T) {
	c := newWriteFixture(t, nil)
	ask := func() *insightv1.SuggestResourcesResponse {
		t.Helper()
		request := &insightv1.SuggestResourcesRequest{}
		require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT task_project, task_domain, task_name FROM actions WHERE run_name = 'r0'`).
			Scan(&request.Project, &request.Domain, &request.Name))
		response, err := c.insight.SuggestResources(t.Context(), request)
		require.NoError(t, err)
		return response
	}
	for i, name := range []string{"r0", "r1", "r2"} {
		c.create(namedRun(name))
		c.measured(c.uid(name), 1, used(0, 250, 100<<20), used(15, uint64(250+i), uint64(100+i)<<20))
		c.report(transition(name, "a0", 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED))
		if i == 0 {
			require.EqualValues(t, 1, ask().GetAttempts())
			require.Nil(t, ask().GetSuggested(), "one attempt says little")
		}
	}
	got := ask()
	require.EqualValues(t, 3, got.GetAttempts())
	require.EqualValues(t, 252, got.GetPeaks().GetCpuMilli())
	require.EqualValues(t, 400, got.GetSuggested().GetCpuMilli())
	require.EqualValues(t, 128<<20, got.GetSuggested().GetMemoryBytes())
	require.EqualValues(t, 128<<20, got.GetRequests().GetMemoryBytes())
	require.Equal(t, `flyte.Resources(cpu="400m", memory="128Mi")`, got.GetCode())

	// One that ran out of memory needed more than was measured.
	c.create(namedRun("r3"))
	c.measured(c.uid("r3"), 1, used(0, 250, 90<<20))
	failed := transition("r3", "a0", 1, common.ActionPhase_ACTION_PHASE_FAILED)
	failed.Error = &core.ExecutionError{Code: "OOMKilled", Message: "killed", Kind: core.ExecutionError_USER}
	c.report(failed)
	require.True(t, c.usage("r3", "a0", 0).GetOutOfMemory())
	require.NotNil(t, c.usage("r3", "a0", 0).GetEndedAt())
	got = ask()
	require.EqualValues(t, 1, got.GetOutOfMemory())
	require.EqualValues(t, 256<<20, got.GetPeaks().GetMemoryBytes())
	require.EqualValues(t, 512<<20, got.GetSuggested().GetMemoryBytes())

	_, err := c.insight.SuggestResources(t.Context(), &insightv1.SuggestResourcesRequest{Project: "p", Domain: "d"})
	refused(t, err, connect.CodeInvalidArgument, "name")
}

func TestWhyAnAttemptIsNotMeasuredIsSaid(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("why"))
	for runner, words := range map[schema.Runner]string{
		schema.RunnerExecutor: "doctor", schema.RunnerBuiltin: "without a pod", schema.RunnerClient: "tracked",
		schema.RunnerPool: "a worker runs several of them in one container", schema.RunnerConnector: "a connector started",
	} {
		_, err := c.pool.Exec(t.Context(), `UPDATE actions SET runner = $1 WHERE run_name = 'why'`, runner)
		require.NoError(t, err)
		require.Contains(t, c.usage("why", "a0", 0).GetNote(), words)
	}
}

// BenchmarkUsageOfAThousandAttempts records an hour of measurements of 1,000 attempts, a minute at a time, and reports the
// processor time of the server for each minute, and the bytes of rows afterwards.
func BenchmarkUsageOfAThousandAttempts(b *testing.B) {
	const attempts, perMinute = 1000, 4
	c := newWriteFixture(b, nil)
	c.create(namedRun("many"))
	uid := c.uid("many")
	var spent time.Duration
	minutes := 0
	for b.Loop() {
		for range 60 {
			before := processorTime(b)
			for call := range 2 {
				request := &enginev1.RecordUsageRequest{}
				for i := range attempts / 2 {
					one := &enginev1.AttemptUsage{
						Uid: uid, Attempt: uint32(call*attempts/2 + i + 1), Requests: &insightv1.Amounts{CpuMilli: proto.Uint64(500)},
						Limits: &insightv1.Amounts{MemoryBytes: proto.Uint64(256 << 20)},
					}
					for k := range perMinute {
						second := (minutes*perMinute + k) * 15
						one.Points = append(one.Points, used(second, uint64(300+second*7%200), uint64(100+second*13%40)<<20))
					}
					request.Usages = append(request.Usages, one)
				}
				_, err := c.engine.RecordUsage(b.Context(), request)
				require.NoError(b, err)
			}
			spent, minutes = spent+processorTime(b)-before, minutes+1
		}
	}
	var points, rows int
	require.NoError(b, c.pool.QueryRow(b.Context(), `SELECT sum(length(points)), sum(pg_column_size(u.*)) FROM attempt_usage u`).Scan(&points, &rows))
	b.ReportMetric(float64(spent.Milliseconds())/float64(minutes), "cpu-ms/minute")
	b.ReportMetric(float64(points)/attempts, "bytes-of-points/attempt")
	b.ReportMetric(float64(rows)/attempts, "bytes/row")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
