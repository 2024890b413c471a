package triggers_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/triggers"
)

// BenchmarkFires measures 10,000 active triggers: 1,000 of them fire within a minute, the others in a day. It reports how
// late the slots were, what the scheduler takes of memory, and how many statements it makes a second while nothing is due.
func BenchmarkFires(b *testing.B) {
	const total, firing = 10_000, 1_000
	const within, idle = time.Minute, 10 * time.Second
	for b.Loop() {
		f := newFixture(b, nil)
		f.deploy("v1", triggered("t", onCron("0 0 1 1 *", "UTC")))
		first := time.Now().UTC().Truncate(time.Millisecond).Add(idle + time.Minute) // inserting takes some seconds
		insertMany(b, f, total, func(i int) time.Time {
			if i < firing {
				return first.Add(time.Duration(i) * within / firing)
			}
			return first.Add(24*time.Hour + time.Duration(i)*time.Second)
		})
		own, err := pgxpool.New(b.Context(), pgtest.URL(f.pool))
		require.NoError(b, err)
		b.Cleanup(own.Close)
		service, err := triggers.New(triggers.DefaultConfig(), triggers.Deps{
			Pool: own, Runs: f.runs, Tasks: f.tasks, Artifacts: f.artifacts, ArtifactEvents: f.events, Clock: clock.System{}, Logger: zerolog.Nop(),
			Starter: enginev1connect.NewTriggerRunServiceClient(rpc.InProcess(f.mux), rpc.InProcessURL),
		})
		require.NoError(b, err)
		require.NoError(b, clock.Sleep(b.Context(), clock.System{}, time.Until(first)-idle-time.Second))
		before, calls := heap(), own.Stat().AcquireCount()
		stop := f.start(service)
		require.NoError(b, clock.Sleep(b.Context(), clock.System{}, idle))
		b.ReportMetric(float64(heap()-before)/1024, "idle-KiB")
		b.ReportMetric(float64(own.Stat().AcquireCount()-calls)/idle.Seconds(), "idle-statements/s")
		require.Eventually(b, func() bool {
			var started int
			require.NoError(b, f.pool.QueryRow(b.Context(), `SELECT count(*) FROM trigger_fires WHERE settled_at IS NOT NULL`).Scan(&started))
			return started == firing
		}, 3*time.Minute, time.Second)
		stop()
		var p50, p99, worst float64
		require.NoError(b, f.pool.QueryRow(b.Context(), `
			SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY late), percentile_cont(0.99) WITHIN GROUP (ORDER BY late), max(late)
			FROM (SELECT extract(epoch FROM settled_at - slot)::float8 * 1000 AS late FROM trigger_fires) l`).Scan(&p50, &p99, &worst))
		b.ReportMetric(p50, "ms-late-p50")
		b.ReportMetric(p99, "ms-late-p99")
		b.ReportMetric(worst, "ms-late-max")
		require.Len(b, f.allRuns(), 200, "the first page")
	}
}

// heap is what the process keeps.
func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// insertMany copies the one trigger that is deployed, each copy with a daily rate from its own start.
func insertMany(b *testing.B, f *fixture, count int, start func(int) time.Time) {
	b.Helper()
	batch := &pgx.Batch{}
	for i := range count {
		at := start(i)
		automation, err := proto.Marshal(scheduled(&task.Schedule{Expression: &task.Schedule_Rate{Rate: &task.FixedRate{
			Value: 1, Unit: task.FixedRateUnit_FIXED_RATE_UNIT_DAY, StartTime: timestamppb.New(at),
		}}, KickoffTimeInputArg: "at"}))
		require.NoError(b, err)
		batch.Queue(`INSERT INTO triggers (project, domain, task_name, name, revision, active, with_task, automation_type, automation, spec, task_version,
				description, deployed_by, updated_by, deployed_at, updated_at, anchor, next_slot, next_fire_at)
			SELECT project, domain, task_name, $1, revision, active, with_task, automation_type, $2, spec, task_version,
				description, deployed_by, updated_by, deployed_at, updated_at, anchor, $3, $3 FROM triggers WHERE name = 't'`,
			fmt.Sprintf("t%05d", i), automation, at)
	}
	require.NoError(b, f.pool.SendBatch(b.Context(), batch).Close())
	_, err := f.pool.Exec(b.Context(), `ANALYZE triggers`)
	require.NoError(b, err)
}
