package triggers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/triggers"
)

// waitsFor waits until the oldest pending slot of a trigger has a reason.
func (f *fixture) waitsFor(of, reason string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool {
		for _, slot := range f.explain(of).GetSlots() {
			if slot.GetState() == insightv1.SlotState_SLOT_STATE_PENDING && strings.Contains(slot.GetReason(), reason) {
				return true
			}
		}
		return false
	}, 20*time.Second, 5*time.Millisecond, "%s waits: %s", of, reason)
}

func (f *fixture) startedRuns(of string) int {
	f.t.Helper()
	times, _ := f.started(of)
	return len(times)
}

// A run that publishes a version of what its trigger waits for, silently of where it comes from, feeds its own trigger.
func TestATriggerThatFeedsItselfIsSlow(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("loop", onArtifact("m")), triggered("other", onArtifact("n")))
	f.start(f.replica(func(c *triggers.Config) { c.MaxPerMinute = 3 }))
	publish := func(from, until int) {
		for i := from; i < until; i++ { // as many runs would do, one after the other
			f.publish("m", fmt.Sprint(i), 1)
		}
	}
	publish(0, 6)
	f.fired("loop", "m@0", "m@1", "m@2")
	f.waitsFor("loop", "has started 3 runs within a minute, and may not start more (triggers.maxPerMinute); tried again at 2026-06-01T12:01:30Z")
	f.publish("n", "1", 1)
	f.fired("other", "n@1") // one trigger does not slow another
	require.Equal(t, 3, f.startedRuns("loop"))

	f.step(time.Minute)
	f.fired("loop", "m@0", "m@1", "m@2", "m@3", "m@4", "m@5")
	publish(6, 7)
	f.waitsFor("loop", "tried again at 2026-06-01T12:02:30Z")
	require.Equal(t, 6, f.startedRuns("loop"))
}

func TestUnfinishedRunsOfATriggerAreBounded(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("minutely", onCron("* * * * *", "UTC")), triggered("on_m", onArtifact("m")))
	f.start(f.replica(func(c *triggers.Config) { c.MaxUnfinished, c.RetryMax = 2, time.Second }))
	f.clock.Step(3 * time.Minute)
	f.eventually("minutely", "01 12:01:00", "01 12:02:00")
	f.waitsFor("minutely", "2 runs of the trigger are unfinished, and there may not be more (triggers.maxUnfinished)")
	f.publish("m", "1", 1)
	f.fired("on_m", "m@1")
	f.step(10 * time.Second)
	require.Equal(t, 2, f.startedRuns("minutely"))

	_, slots := f.started("minutely")
	f.finish(slots[0].GetRunId().GetName())
	require.Eventually(t, func() bool {
		f.clock.Step(time.Second)
		return f.startedRuns("minutely") == 3
	}, 20*time.Second, 20*time.Millisecond, "when one has ended, the next starts")
}

// An aborted run makes room for no other than the one that replaces it.
func TestASlotThatWaitsReplacesNothing(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("replace", onArtifact("m"), "flyte.org/trigger-concurrency", "replace"))
	f.start(f.replica(func(c *triggers.Config) { c.MaxPerMinute = 1 }))
	f.publish("m", "1", 1)
	first := f.fired("replace", "m@1")[0].GetRunId().GetName()
	f.publish("m", "2", 1)
	f.waitsFor("replace", "triggers.maxPerMinute")
	require.NotEqual(t, common.ActionPhase_ACTION_PHASE_ABORTED, f.details(first).GetStatus().GetPhase())
	f.step(time.Minute)
	f.fired("replace", "m@1", "m@2")
	require.Equal(t, common.ActionPhase_ACTION_PHASE_ABORTED, f.details(first).GetStatus().GetPhase())
}

// Two versions from each run: what waits would grow without a bound, however slowly the runs start.
func TestVersionsThatWaitAreBounded(t *testing.T) {
	f := newFixture(t, nil)
	f.deploy("v1", triggered("loop", onArtifact("m")), triggered("other", onArtifact("n")))
	f.outage.Store(true)
	few := func(c *triggers.Config) { c.MaxWaiting = 3 }
	stop := f.start(f.replica(few))
	for i := range 5 {
		f.publish("m", fmt.Sprint(i), 1)
		f.drained()
	}
	f.publish("n", "1", 1)
	f.drained()
	stop()
	slots := f.explain("loop").GetSlots()
	require.Len(t, slots, 5)
	for i, slot := range slots { // newest first
		skipped := slot.GetState() == insightv1.SlotState_SLOT_STATE_SKIPPED
		require.Equal(t, i < 2, skipped, slot)
		if skipped {
			require.Contains(t, slot.GetReason(), "3 versions of the trigger wait for their runs, and there may not be more (triggers.maxWaiting)")
		}
	}
	f.outage.Store(false)
	f.start(f.replica(few))
	f.clock.Step(time.Minute)
	f.fired("loop", "m@0", "m@1", "m@2")
	f.fired("other", "n@1")
}
