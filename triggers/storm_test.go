package triggers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/triggers"
)

// TestStormOfFaults is I9 under everything at once: schedulers are killed at any moment, several schedule together, answers
// are lost, runs is down for a while, the database breaks connections, the clock steps both ways, and the triggers are
// deployed again all the time; new versions of an artifact come meanwhile, and sometimes their events cannot be removed.
// Afterwards each slot and each version has exactly one run.
func TestStormOfFaults(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { storm(t, rand.New(rand.NewPCG(seed, 9))) })
	}
}

func storm(t *testing.T, random *rand.Rand) {
	quick := func(c *triggers.Config) {
		c.Poll, c.RetryMax, c.Lease = 200*time.Millisecond, time.Second, 10*time.Minute
	}
	f := newFixture(t, quick)
	f.lost.Store(true)
	config := f.pool.Config().Copy()
	config.ConnConfig.RuntimeParams["application_name"] = "scheduler"
	var err error
	f.replicas, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(f.replicas.Close)
	names := []string{"cron", "rate", "jittery"}
	version := 0
	again := func() {
		version++
		f.deploy(fmt.Sprintf("v%d", version), triggered("cron", onCron("* * * * *", "Europe/Berlin")),
			triggered("rate", onCron("*/2 * * * *", "UTC")), triggered("jittery", onCron("* * * * *", "UTC"), "flyte.org/trigger-jitter", "20s"),
			triggered("on_m", onArtifact("m", "region", "us")))
	}
	again()
	var versions []string
	stops := map[int]func(){}
	latest := f.clock.Now()
	for step := range 120 {
		switch random.IntN(10) {
		case 0:
			again()
		case 7:
			f.forget.Store(!f.forget.Load())
		case 8:
			f.publish("m", fmt.Sprint(step), int64(step), "region", "us")
			versions = append(versions, "m@"+fmt.Sprint(step))
		case 1:
			f.outage.Store(!f.outage.Load())
		case 2: // a scheduler dies, or another begins alongside it
			if stop, ok := stops[0]; ok {
				stop()
				delete(stops, 0)
				break
			}
			fallthrough
		case 3:
			_, err := f.pool.Exec(t.Context(), `DELETE FROM trigger_leases`) // the holder does not know that it lost it
			require.NoError(t, err)
			if len(stops) < 3 {
				service := f.replica(quick)
				require.NoError(t, service.Start(t.Context()))
				id := step
				if _, ok := stops[0]; !ok {
					id = 0
				}
				stops[id] = func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) }
			}
		case 4:
			_, err := f.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'scheduler'`)
			require.NoError(t, err)
		case 5:
			f.clock.Step(-time.Duration(random.IntN(60)) * time.Second)
		default:
			f.clock.Step(time.Duration(random.IntN(150)) * time.Second)
		}
		if now := f.clock.Now(); now.After(latest) {
			latest = now
		}
	}
	for _, stop := range stops {
		stop()
	}
	f.outage.Store(false)
	f.lost.Store(false)
	f.forget.Store(false)
	if now := f.clock.Now(); now.Before(latest) {
		f.clock.Step(latest.Sub(now)) // a slot may have fired early, by a clock that was ahead
	}
	_, err = f.pool.Exec(t.Context(), `DELETE FROM trigger_leases`)
	require.NoError(t, err)
	f.replicas = f.pool // its connections are whole
	f.start(f.replica(nil))
	until := f.clock.Now()
	want := map[string]int{}
	for slot := monday.Truncate(time.Minute).Add(time.Minute); !slot.After(until); slot = slot.Add(time.Minute) {
		want["cron"]++
		want["jittery"]++
		if slot.Minute()%2 == 0 {
			want["rate"]++
		}
	}
	for range 25 { // the last jitter, and the last retry
		f.step(time.Second)
	}
	require.Eventually(t, func() bool {
		if f.clock.Timers() >= waiting {
			f.clock.Step(time.Millisecond)
		}
		for _, of := range names {
			if slots, _ := f.started(of); len(slots) < want[of] {
				return false
			}
		}
		slots, _ := f.started("on_m")
		return len(slots) >= len(versions)
	}, 30*time.Second, 20*time.Millisecond, "all slots and versions fire")
	f.drained()
	// The scheduler continues: stopped between a run and the record of it, it would leave that to the next one.
	total, fired := 0, len(f.fired("on_m", versions...))
	require.Eventually(t, func() bool {
		total = 0
		for _, of := range names {
			slots, _ := f.started(of)
			total += len(slots)
		}
		var runs int
		require.NoError(t, f.pool.QueryRow(t.Context(), `SELECT count(*) FROM actions WHERE parent_name IS NULL`).Scan(&runs))
		return total+fired == runs
	}, 30*time.Second, 20*time.Millisecond, "each run is that of a slot or a version")
	for _, of := range names {
		slots, by := f.started(of)
		require.LessOrEqual(t, len(slots), want[of]+1, "one more may have come in the end")
		runs := map[string]bool{}
		for i, slot := range by {
			require.False(t, runs[slot.GetRunId().GetName()])
			runs[slot.GetRunId().GetName()] = true
			if i > 0 {
				gap := slot.GetTime().AsTime().Sub(by[i-1].GetTime().AsTime())
				require.Equal(t, map[string]time.Duration{"cron": time.Minute, "rate": 2 * time.Minute, "jittery": time.Minute}[of], gap, "no slot is missing")
			}
		}
	}
	require.NotEmpty(t, versions)
	require.Greater(t, total, 10, "the storm has slots")
}

// A run that a person created under the name of a slot does not pass for the slot's.
func TestARunOfAnotherOriginDoesNotPassForASlot(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")))
	stop := f.start(f.replica(nil))
	f.step(30 * time.Second)
	f.eventually("minutely", "01 12:01:00")
	stop()
	_, slots := f.started("minutely")
	taken := slots[0].GetRunId().GetName()
	_, err := f.pool.Exec(t.Context(), `DELETE FROM actions WHERE run_name = $1`, taken)
	require.NoError(t, err)
	_, err = f.runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: &common.RunIdentifier{Project: projectID, Domain: domainID, Name: taken}},
		Task: &workflow.CreateRunRequest_TaskId{TaskId: deploy("v1").GetTaskId()},
	})
	require.NoError(t, err)
	_, err = f.pool.Exec(t.Context(), `UPDATE trigger_fires SET state = 1, retry_at = recorded_at, settled_at = NULL`)
	require.NoError(t, err)
	f.start(f.replica(nil))
	require.Eventually(t, func() bool {
		return f.explain("minutely").GetSlots()[0].GetState() == insightv1.SlotState_SLOT_STATE_FAILED
	}, 5*time.Second, 5*time.Millisecond)
	require.Contains(t, f.explain("minutely").GetSlots()[0].GetReason(), "already exists")
}

// A scheduler that was frozen while another created the run of its slot replaces neither this run nor that of a later slot.
func TestASlotReplacesNeitherItselfNorALaterOne(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC"), "flyte.org/trigger-concurrency", "replace"))
	stop := f.start(f.replica(nil))
	f.step(30 * time.Second)
	f.eventually("minutely", "01 12:01:00")
	frozen := func() {
		stop()
		_, err := f.pool.Exec(t.Context(), `UPDATE trigger_fires SET state = 1, retry_at = recorded_at, settled_at = NULL WHERE slot = $1`,
			monday.Truncate(time.Minute).Add(time.Minute))
		require.NoError(t, err)
		stop = f.start(f.replica(nil))
	}
	phase := func(at int) common.ActionPhase {
		_, slots := f.started("minutely")
		return f.details(slots[at].GetRunId().GetName()).GetStatus().GetPhase()
	}
	frozen()
	f.eventually("minutely", "01 12:01:00")
	require.NotEqual(t, common.ActionPhase_ACTION_PHASE_ABORTED, phase(0))
	f.step(time.Minute)
	f.eventually("minutely", "01 12:01:00", "01 12:02:00")
	require.Equal(t, common.ActionPhase_ACTION_PHASE_ABORTED, phase(0))
	frozen()
	require.Eventually(t, func() bool {
		return f.explain("minutely").GetSlots()[1].GetState() == insightv1.SlotState_SLOT_STATE_SKIPPED
	}, 5*time.Second, 5*time.Millisecond)
	require.NotEqual(t, common.ActionPhase_ACTION_PHASE_ABORTED, phase(0), "of the later slot")
}
