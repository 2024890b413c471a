package triggers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

func (f *fixture) details(run string) *workflow.ActionDetails {
	f.t.Helper()
	response, err := f.runs.GetRunDetails(f.t.Context(), &workflow.GetRunDetailsRequest{RunId: &common.RunIdentifier{Project: projectID, Domain: domainID, Name: run}})
	require.NoError(f.t, err)
	return response.GetDetails().GetAction()
}

func (f *fixture) inputs(run string) *task.Inputs {
	f.t.Helper()
	response, err := f.runs.GetActionDataURIs(f.t.Context(), &workflow.GetActionDataURIsRequest{
		ActionId: &common.ActionIdentifier{Run: &common.RunIdentifier{Project: projectID, Domain: domainID, Name: run}, Name: "a0"},
	})
	require.NoError(f.t, err)
	body, err := f.blobs.ReadAll(f.t.Context(), strings.TrimSuffix(response.GetInputsUri(), "/inputs.pb")+"/inputs.pb", 1<<20)
	require.NoError(f.t, err)
	inputs := &task.Inputs{}
	require.NoError(f.t, proto.Unmarshal(body, inputs))
	return inputs
}

// startTime is what {{.runStartTime}} becomes in every attempt.
func (f *fixture) startTime(run string) time.Time {
	f.t.Helper()
	var at time.Time
	require.NoError(f.t, f.pool.QueryRow(f.t.Context(), `SELECT run_start_time FROM actions WHERE run_name = $1 AND parent_name IS NULL`, run).Scan(&at))
	return at
}

func TestRunOfASlot(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "Europe/Berlin")))
	f.start(f.replica(nil))
	f.step(30 * time.Second)
	f.eventually("minutely", "01 12:01:00")
	_, slots := f.started("minutely")
	run := slots[0].GetRunId().GetName()
	require.Equal(t, time.Date(2026, 6, 1, 12, 1, 0, 0, time.UTC), f.startTime(run))
	details := f.details(run)
	require.Equal(t, workflow.RunSource_RUN_SOURCE_SCHEDULE_TRIGGER, details.GetMetadata().GetSource())
	require.Equal(t, "minutely", details.GetMetadata().GetTriggerName())
	require.Equal(t, uint64(1), details.GetMetadata().GetTriggerId().GetRevision())
	require.Equal(t, taskName, details.GetMetadata().GetTriggerId().GetName().GetTaskName())
	require.Equal(t, "data", f.allRuns()[0].GetLabels()["team"])
	inputs := f.inputs(run)
	require.Equal(t, int64(7), inputs.GetLiterals()[0].GetValue().GetScalar().GetPrimitive().GetInteger())
	require.Equal(t, "_u_kickoff_time_input_arg", inputs.GetContext()[0].GetKey())
	require.Equal(t, "at", inputs.GetContext()[0].GetValue())
	require.NotNil(t, f.get("minutely").GetStatus().GetTriggeredAt())

	f.step(time.Minute)
	f.eventually("minutely", "01 12:01:00", "01 12:02:00")
	var keys []string
	rows, err := f.pool.Query(t.Context(), `SELECT DISTINCT cache_key FROM actions WHERE parent_name IS NULL`)
	require.NoError(t, err)
	for rows.Next() {
		var key string
		require.NoError(t, rows.Scan(&key))
		keys = append(keys, key)
	}
	require.Len(t, keys, 2, "the kick-off time is part of the cache key")
}

// I9: whatever is repeated, a slot has one run.
func TestEachSlotFiresOnce(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")))
	want := []string{}
	for i := range 6 {
		stop := f.start(f.replica(nil))
		f.step(time.Minute)
		want = append(want, time.Date(2026, 6, 1, 12, i+1, 0, 0, time.UTC).Format("02 15:04:05"))
		f.eventually("minutely", want...)
		stop()
	}
	require.Len(t, f.allRuns(), 6)
}

// I9: two replicas may schedule at once, for a moment after a lease was lost, even all the time.
func TestReplicasThatScheduleAtOnce(t *testing.T) {
	f := newFixture(t, nil)
	var with []*task.TaskTrigger
	for i := range 20 {
		with = append(with, triggered(fmt.Sprintf("t%d", i), onCron("* * * * *", "UTC")))
	}
	f.deploy("v1", with...)
	f.clock.Step(3 * time.Minute)
	for range 3 {
		f.start(f.replica(nil))
		_, err := f.pool.Exec(t.Context(), `DELETE FROM trigger_leases`) // the holder does not know
		require.NoError(t, err)
	}
	for i := range 20 {
		f.eventually(fmt.Sprintf("t%d", i), "01 12:01:00", "01 12:02:00", "01 12:03:00")
	}
	require.Len(t, f.allRuns(), 60)
	require.GreaterOrEqual(t, f.starts.Load(), int64(60))
}

// The scheduler may die between any two of its steps: what it did is done again.
func TestStepsOfTheSchedulerCanBeRepeated(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")))
	stop := f.start(f.replica(nil))
	f.step(time.Minute)
	f.eventually("minutely", "01 12:01:00")
	stop()

	// It died after the run was created and before the slot was settled; the trigger was deployed meanwhile.
	_, err := f.pool.Exec(t.Context(), `UPDATE trigger_fires SET state = 1, retry_at = recorded_at, settled_at = NULL`)
	require.NoError(t, err)
	f.deploy("v2", triggered("minutely", onCron("* * * * *", "UTC")))
	stop = f.start(f.replica(nil))
	f.eventually("minutely", "01 12:01:00")
	stop()
	require.Len(t, f.allRuns(), 1)

	// It died before it took the slot up: the transaction was rolled back.
	_, err = f.pool.Exec(t.Context(), `UPDATE triggers SET next_slot = next_slot - interval '1 minute', next_fire_at = next_fire_at - interval '1 minute'`)
	require.NoError(t, err)
	f.start(f.replica(nil))
	f.step(time.Minute)
	f.eventually("minutely", "01 12:01:00", "01 12:02:00")
	require.Len(t, f.allRuns(), 2)
}

func TestASlotIsNotLostByADeployment(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")), triggered("changed", onCron("* * * * *", "UTC")), triggered("paused", onCron("* * * * *", "UTC")))
	f.clock.Step(45 * time.Second) // 12:01:15: the scheduler is late
	f.deploy("v2", triggered("minutely", onCron("* * * * *", "UTC")), triggered("changed", onCron("0 0 * * *", "UTC")), triggered("paused", onCron("* * * * *", "UTC")))
	require.NoError(t, f.switchTo(false, "paused"))
	f.start(f.replica(nil))
	for _, of := range []string{"minutely", "changed", "paused"} {
		f.eventually(of, "01 12:01:00")
	}
}

func TestClockThatSteps(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")))
	f.start(f.replica(nil))
	f.step(time.Minute)
	f.eventually("minutely", "01 12:01:00")
	f.step(-time.Minute)
	f.step(time.Minute)
	f.step(30 * time.Second)
	f.eventually("minutely", "01 12:01:00", "01 12:02:00")
	f.step(2 * time.Minute)
	f.eventually("minutely", "01 12:01:00", "01 12:02:00", "01 12:03:00", "01 12:04:00")
	require.Len(t, f.allRuns(), 4)
}

func TestCatchUp(t *testing.T) {
	f := newFixture(t, nil)
	const key, limit = "flyte.org/trigger-catch-up", "flyte.org/trigger-catch-up-limit"
	hourly := onCron("0 * * * *", "UTC")
	f.deploy("v1", triggered("none", hourly, key, "none"), triggered("latest", hourly, key, "latest"),
		triggered("all", hourly, key, "all"), triggered("two", hourly, limit, "2"))
	f.clock.Step(4 * time.Hour) // 16:00:30
	f.start(f.replica(nil))
	f.eventually("all", "01 13:00:00", "01 14:00:00", "01 15:00:00", "01 16:00:00")
	f.eventually("latest", "01 16:00:00")
	f.eventually("two", "01 15:00:00", "01 16:00:00")
	f.eventually("none", "01 16:00:00")
	f.step(90 * time.Minute) // 17:30:30
	f.eventually("latest", "01 16:00:00", "01 17:00:00")
	f.eventually("none", "01 16:00:00")
	slots := f.explain("none").GetSlots()
	require.Equal(t, insightv1.SlotState_SLOT_STATE_SKIPPED, slots[0].GetState())
	require.Contains(t, slots[0].GetReason(), "policy for missed slots is none")
	var reasons []string
	for _, slot := range f.explain("two").GetSlots() {
		reasons = append(reasons, slot.GetReason())
	}
	require.Contains(t, strings.Join(reasons, " "), "latest 2")
	require.Equal(t, "all", f.explain("two").GetCatchUp())
}

func TestConcurrency(t *testing.T) {
	f := newFixture(t, nil)
	const key = "flyte.org/trigger-concurrency"
	minutely := onCron("* * * * *", "UTC")
	f.deploy("v1", triggered("skip", minutely, key, "skip"), triggered("replace", minutely, key, "replace"), triggered("allow", minutely))
	f.start(f.replica(nil))
	f.step(30 * time.Second)
	f.eventually("skip", "01 12:01:00")
	f.eventually("replace", "01 12:01:00")
	f.step(time.Minute)
	f.eventually("allow", "01 12:01:00", "01 12:02:00")
	f.eventually("replace", "01 12:01:00", "01 12:02:00")
	_, replaced := f.started("replace")
	first := f.details(replaced[0].GetRunId().GetName())
	require.Equal(t, common.ActionPhase_ACTION_PHASE_ABORTED, first.GetStatus().GetPhase())
	require.Contains(t, first.GetAbortInfo().GetReason(), "replaced by the slot 2026-06-01T12:02:00Z")
	require.Eventually(t, func() bool {
		return f.explain("skip").GetSlots()[0].GetState() == insightv1.SlotState_SLOT_STATE_SKIPPED
	}, 10*time.Second, 5*time.Millisecond)
	_, skipped := f.started("skip")
	require.Contains(t, f.explain("skip").GetSlots()[0].GetReason(), skipped[0].GetRunId().GetName())

	f.finish(skipped[0].GetRunId().GetName())
	f.step(time.Minute)
	f.eventually("skip", "01 12:01:00", "01 12:03:00")
}

func TestJitterDelaysButDoesNotMoveTheSlot(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("daily", onCron("0 0 * * *", "UTC"), "flyte.org/trigger-jitter", "1h"))
	var slot, fire time.Time
	require.NoError(t, f.pool.QueryRow(t.Context(), `SELECT next_slot, next_fire_at FROM triggers`).Scan(&slot, &fire))
	require.True(t, fire.After(slot) && fire.Before(slot.Add(time.Hour)), "%s %s", slot, fire)
	f.start(f.replica(nil))
	f.step(slot.Sub(f.clock.Now()))
	f.step(fire.Sub(slot) - time.Second)
	require.Empty(t, f.explain("daily").GetSlots())
	f.step(time.Second)
	f.eventually("daily", "02 00:00:00")
	_, slots := f.started("daily")
	require.Equal(t, slot, f.startTime(slots[0].GetRunId().GetName()))
}

func TestOutageOfRunsDelaysSlots(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")))
	f.outage.Store(true)
	f.start(f.replica(nil))
	f.step(time.Minute)
	require.Eventually(t, func() bool {
		slots := f.explain("minutely").GetSlots()
		return len(slots) == 1 && slots[0].GetAttempts() == 1
	}, 10*time.Second, 5*time.Millisecond)
	slot := f.explain("minutely").GetSlots()[0]
	require.Equal(t, insightv1.SlotState_SLOT_STATE_PENDING, slot.GetState())
	require.Contains(t, slot.GetReason(), "the runs service is down")
	f.outage.Store(false)
	f.step(10 * time.Second)
	f.eventually("minutely", "01 12:01:00")
}

func TestARefusedRunIsAReason(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")))
	_, err := f.pool.Exec(t.Context(), `UPDATE projects SET state = 1`)
	require.NoError(t, err)
	f.start(f.replica(nil))
	f.step(time.Minute)
	require.Eventually(t, func() bool {
		slots := f.explain("minutely").GetSlots()
		return len(slots) == 1 && slots[0].GetState() == insightv1.SlotState_SLOT_STATE_FAILED
	}, 10*time.Second, 5*time.Millisecond)
	require.Contains(t, f.explain("minutely").GetSlots()[0].GetReason(), "archived")
}

func TestPausedTimeIsNotCaughtUp(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")))
	require.NoError(t, f.switchTo(false, "minutely"))
	f.clock.Step(10 * time.Minute)
	require.NoError(t, f.switchTo(true, "minutely"))
	f.start(f.replica(nil))
	f.step(time.Minute)
	f.eventually("minutely", "01 12:11:00")
}

func TestHandFire(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("manual", byHand()))
	require.NoError(t, f.switchTo(false, "manual"))
	create := func(change func(*workflow.CreateRunRequest)) (*workflow.Run, error) {
		request := &workflow.CreateRunRequest{
			Id:   &workflow.CreateRunRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: projectID, Domain: domainID}},
			Task: &workflow.CreateRunRequest_TriggerName{TriggerName: name("manual")},
		}
		if change != nil {
			change(request)
		}
		response, err := f.runs.CreateRun(t.Context(), request)
		return response.GetRun(), err
	}
	run, err := create(nil)
	require.NoError(t, err)
	require.Equal(t, "manual", run.GetAction().GetMetadata().GetTriggerName())
	require.Equal(t, int64(7), f.inputs(run.GetAction().GetId().GetRun().GetName()).GetLiterals()[0].GetValue().GetScalar().GetPrimitive().GetInteger())
	require.Equal(t, "data", run.GetLabels()["team"])

	run, err = create(func(r *workflow.CreateRunRequest) {
		r.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: &task.Inputs{Literals: []*task.NamedLiteral{number("x", 44)}}}
		r.RunSpec = &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"team": "ml"}}}
	})
	require.NoError(t, err)
	require.Equal(t, int64(44), f.inputs(run.GetAction().GetId().GetRun().GetName()).GetLiterals()[0].GetValue().GetScalar().GetPrimitive().GetInteger())
	require.Equal(t, "ml", run.GetLabels()["team"])

	_, err = create(func(r *workflow.CreateRunRequest) { r.GetProjectId().Domain = "staging" })
	refused(t, err, connect.CodeInvalidArgument, "trigger_name")
	_, err = create(func(r *workflow.CreateRunRequest) { r.GetTriggerName().Name = "none" })
	refused(t, err, connect.CodeNotFound, "none")

	named := func(r *workflow.CreateRunRequest) {
		r.Id = &workflow.CreateRunRequest_RunId{RunId: &common.RunIdentifier{Project: projectID, Domain: domainID, Name: "mine"}}
	}
	_, err = create(named)
	require.NoError(t, err)
	f.deploy("v2", triggered("manual", byHand()))
	_, err = create(named)
	require.NoError(t, err, "the same request is the same run, though the trigger has changed")
}

func TestFixedRates(t *testing.T) {
	f := newFixture(t, nil)
	start := time.Date(2026, 6, 1, 12, 5, 0, 0, time.UTC)
	later := &task.Schedule{Expression: &task.Schedule_Rate{Rate: &task.FixedRate{
		Value: 2, Unit: task.FixedRateUnit_FIXED_RATE_UNIT_MINUTE, StartTime: timestamppb.New(start),
	}}, KickoffTimeInputArg: "at"}
	now := &task.Schedule{Expression: &task.Schedule_Rate{Rate: &task.FixedRate{Value: 3, Unit: task.FixedRateUnit_FIXED_RATE_UNIT_MINUTE}}, KickoffTimeInputArg: "at"}
	f.deploy("v1", triggered("later", scheduled(later)), triggered("now", scheduled(now)))
	require.Equal(t, "every 2 minutes, counted from 2026-06-01 12:05:00 UTC", f.explain("later").GetSchedule())
	f.clock.Step(time.Minute)
	f.deploy("v2", triggered("later", scheduled(later)), triggered("now", scheduled(now)))
	f.start(f.replica(nil))
	f.step(6 * time.Minute) // 12:07:30
	f.eventually("later", "01 12:05:00", "01 12:07:00")
	f.eventually("now", "01 12:03:30", "01 12:06:30")
}

func TestExplainTrigger(t *testing.T) {
	f := newFixture(t, nil)
	off := triggered("off", onCron("0 0 * * *", "UTC"))
	off.Spec.Active = false
	f.deploy("v1", triggered("cron", onCron("30 9 * * 1", "Europe/Berlin")), triggered("manual", byHand()), off)
	cron := f.explain("cron")
	require.Equal(t, "cron 30 9 * * 1 (Europe/Berlin)", cron.GetSchedule())
	require.Equal(t, "2026-06-08T07:30:00Z", cron.GetNext()[0].AsTime().Format(time.RFC3339))
	require.Equal(t, "2026-06-15T07:30:00Z", cron.GetNext()[1].AsTime().Format(time.RFC3339))
	require.Equal(t, uint32(100), cron.GetCatchUpLimit())
	require.Contains(t, f.explain("manual").GetReason(), "no schedule")
	require.Contains(t, f.explain("off").GetReason(), "deployed disabled")
	f.deploy("v2")
	require.Contains(t, f.explain("cron").GetReason(), "deleted")
	_, err := f.insight.ExplainTrigger(t.Context(), &insightv1.ExplainTriggerRequest{Name: name("none")})
	refused(t, err, connect.CodeNotFound, "none")
}

func TestSummarizeTriggers(t *testing.T) {
	f := newFixture(t, nil)
	off := triggered("off", onCron("0 0 * * *", "UTC"))
	off.Spec.Active = false
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")), triggered("manual", byHand()), off)
	f.start(f.replica(nil))
	for range 7 {
		f.step(time.Minute)
	}
	f.eventually("minutely", "01 12:01:00", "01 12:02:00", "01 12:03:00", "01 12:04:00", "01 12:05:00", "01 12:06:00", "01 12:07:00")
	_, slots := f.started("minutely")
	_, err := f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: slots[6].GetRunId()})
	require.NoError(t, err)

	key := func(name string) *insightv1.TriggerKey { return &insightv1.TriggerKey{TaskName: taskName, Name: name} }
	request := &insightv1.SummarizeTriggersRequest{
		ProjectId: &common.ProjectIdentifier{Name: projectID, Domain: domainID},
		Triggers:  []*insightv1.TriggerKey{key("off"), key("none"), key("minutely"), key("manual")},
	}
	answer, err := f.insight.SummarizeTriggers(t.Context(), request)
	require.NoError(t, err)
	var names []string
	for _, one := range answer.GetSummaries() {
		names = append(names, one.GetTrigger().GetName())
	}
	require.Equal(t, []string{"off", "minutely", "manual"}, names)
	require.Nil(t, answer.GetSummaries()[0].GetNext(), "it is off")
	require.Nil(t, answer.GetSummaries()[2].GetNext(), "it has no schedule")
	minutely := answer.GetSummaries()[1]
	require.Equal(t, f.explain("minutely").GetNext()[0].AsTime(), minutely.GetNext().AsTime())
	require.Len(t, minutely.GetLatest(), 5)
	aborted := 0
	for i, one := range minutely.GetLatest() {
		require.Equal(t, fmt.Sprintf("12:0%d:00", 7-i), one.GetSlot().GetTime().AsTime().Format(time.TimeOnly), "newest first")
		if one.GetSlot().GetRunId().GetName() == slots[6].GetRunId().GetName() {
			require.Equal(t, common.ActionPhase_ACTION_PHASE_ABORTED, one.GetPhase())
			aborted++
		} else {
			require.Equal(t, common.ActionPhase_ACTION_PHASE_QUEUED, one.GetPhase())
		}
	}
	require.Equal(t, 1, aborted)

	_, err = f.insight.SummarizeTriggers(t.Context(), &insightv1.SummarizeTriggersRequest{ProjectId: request.GetProjectId()})
	refused(t, err, connect.CodeInvalidArgument, "triggers")
}

func TestBackfill(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("hourly", onCron("0 * * * *", "UTC"), "flyte.org/trigger-concurrency", "skip"))
	at := func(hour int) *timestamppb.Timestamp {
		return timestamppb.New(time.Date(2026, 6, 1, hour, 0, 0, 0, time.UTC))
	}
	request := &insightv1.BackfillRequest{Name: name("hourly"), From: at(6), Until: at(10), Parallel: 2}
	response, err := f.insight.Backfill(t.Context(), request)
	require.NoError(t, err)
	again, err := f.insight.Backfill(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, response.GetBackfill().GetId(), again.GetBackfill().GetId())
	stop := f.start(f.replica(nil))
	f.eventually("hourly", "01 06:00:00", "01 07:00:00")
	f.step(2 * time.Second)
	stop() // it resumes

	f.start(f.replica(nil))
	_, slots := f.started("hourly")
	require.Len(t, slots, 2, "two are unfinished")
	f.finish(slots[0].GetRunId().GetName())
	f.step(5 * time.Second)
	f.eventually("hourly", "01 06:00:00", "01 07:00:00", "01 08:00:00")
	_, slots = f.started("hourly")
	f.finish(slots[1].GetRunId().GetName())
	f.finish(slots[2].GetRunId().GetName())
	f.step(5 * time.Second)
	f.eventually("hourly", "01 06:00:00", "01 07:00:00", "01 08:00:00", "01 09:00:00")
	_, slots = f.started("hourly")
	f.finish(slots[3].GetRunId().GetName())
	var status *insightv1.BackfillStatus
	for range 3 {
		f.step(5 * time.Second)
	}
	require.Eventually(t, func() bool {
		list, err := f.insight.ListBackfills(t.Context(), &insightv1.ListBackfillsRequest{Name: name("hourly")})
		require.NoError(t, err)
		status = list.GetBackfills()[0]
		return status.GetEndedAt() != nil
	}, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, uint32(4), status.GetStarted())

	// What has fired does not fire again.
	second, err := f.insight.Backfill(t.Context(), &insightv1.BackfillRequest{Name: name("hourly"), From: at(9), Until: at(11), Parallel: 5})
	require.NoError(t, err)
	f.step(5 * time.Second)
	f.eventually("hourly", "01 06:00:00", "01 07:00:00", "01 08:00:00", "01 09:00:00", "01 10:00:00")
	_, err = f.insight.CancelBackfill(t.Context(), &insightv1.CancelBackfillRequest{Name: name("hourly"), Id: second.GetBackfill().GetId()})
	require.NoError(t, err)
	list, err := f.insight.ListBackfills(t.Context(), &insightv1.ListBackfillsRequest{Name: name("hourly")})
	require.NoError(t, err)
	require.True(t, list.GetBackfills()[0].GetCanceled())
	require.Equal(t, uint32(1), list.GetBackfills()[0].GetPresent())

	for _, tc := range []struct {
		change func(*insightv1.BackfillRequest)
		code   connect.Code
		text   string
	}{
		{func(r *insightv1.BackfillRequest) { r.Until = at(20) }, connect.CodeInvalidArgument, "future"},
		{func(r *insightv1.BackfillRequest) { r.Until = at(5) }, connect.CodeInvalidArgument, "after from"},
		{func(r *insightv1.BackfillRequest) { r.From = timestamppb.New(monday.AddDate(-10, 0, 0)) }, connect.CodeInvalidArgument, "shorter"},
		{func(r *insightv1.BackfillRequest) { r.GetName().Name = "none" }, connect.CodeNotFound, "none"},
		{func(r *insightv1.BackfillRequest) { r.From = &timestamppb.Timestamp{Seconds: 1 << 60} }, connect.CodeInvalidArgument, "from"},
	} {
		broken := proto.CloneOf(request)
		tc.change(broken)
		_, err := f.insight.Backfill(t.Context(), broken)
		refused(t, err, tc.code, tc.text)
	}
}

func TestOldSlotsAreForgotten(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC"), "flyte.org/trigger-catch-up", "latest"))
	f.start(f.replica(nil))
	f.step(time.Minute)
	f.eventually("minutely", "01 12:01:00")
	f.step(91 * 24 * time.Hour)
	require.Eventually(t, func() bool {
		got, _ := f.started("minutely")
		return len(got) == 1 && got[0] == "31 12:01:00"
	}, 5*time.Second, 5*time.Millisecond, "the new one is there, the old one gone")
	f.step(time.Hour)
	f.eventually("minutely", "31 12:01:00", "31 13:01:00")
}
