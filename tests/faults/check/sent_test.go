package check_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// minute is the nth slot of the trigger of goodSlots.
func minute(n int) time.Time { return created.Add(time.Duration(n) * time.Minute) }

// goodSlots adds to a good history a trigger that was run for the past, fired once on time, missed four slots of which the
// latest two ran, and was then switched off; and notifications, events, artifacts and secrets as they must be.
func goodSlots() *check.Evidence {
	e := good()
	end := ended
	fire := func(n int, state int16, recorded int) check.Fire {
		f := check.Fire{Slot: minute(n), RecordedAt: minute(recorded), State: state}
		if state == check.SlotStarted {
			f.Run = f.Slot.Format("t1504")
			e.Runs = append(e.Runs, check.Run{
				Name: f.Run, Acknowledged: true, Trigger: "each-minute", Slot: f.Slot, LastSeq: 1,
				Script: script.Node{Name: "a0", Kind: script.Task},
				Rows:   []check.Row{{ID: 10, Name: "a0", Phase: check.Succeeded, Attempt: 1, EndedAt: &end, OutputExists: true}},
				Events: []check.Event{{Action: 10, Seq: 1, Attempt: 1, Phase: check.Succeeded}},
			})
		}
		return f
	}
	e.Triggers = []check.Trigger{{
		Name: "each-minute", Start: created, Period: time.Minute, Policy: check.Policy{CatchUp: 2}, From: minute(0), Until: minute(5).Add(time.Second), Latest: minute(6),
		BackfillFrom: minute(-3), BackfillUntil: minute(-1),
		Fires: []check.Fire{
			fire(-3, check.SlotStarted, 1), fire(-2, check.SlotStarted, 1), fire(1, check.SlotStarted, 1),
			fire(2, check.SlotSkipped, 5), fire(4, check.SlotStarted, 5), fire(5, check.SlotStarted, 5), // and 3 was left out
		},
	}}
	run := &e.Runs[0]
	run.Rules = []check.Rule{
		{Name: "ended", Phases: []int32{check.Succeeded, check.Failed}}, {Name: "gone", Phases: []int32{check.Succeeded}, Refused: true},
		{Name: "failures", Phases: []int32{check.Failed}}, {Name: "waits", Phases: []int32{check.Paused}},
	}
	run.Deliveries = []check.Delivery{
		{ID: "1", Rule: "ended", Action: "a0", Phase: check.Succeeded, State: check.Delivered},
		{ID: "2", Rule: "gone", Action: "a0", Phase: check.Succeeded, State: check.Dead},
		{ID: "3", Rule: "waits", Action: "n3", Phase: check.Paused, State: check.Delivered},
	}
	run.Told = []check.Told{
		{ID: "1", Rule: "ended", Phase: check.Succeeded}, {ID: "3", Rule: "waits", Action: "n3", Phase: check.Paused},
		{ID: "3", Rule: "waits", Action: "n3", Phase: check.Paused},
	}
	run.Script.Children[0].Secret, run.Script.Children[0].Artifact = "storm-red", "model"
	run.Script.Children[0].Reads, run.Users = true, []string{"n1"}
	run.Artifacts = []check.Artifact{{Name: "model", Action: "n1", Version: "r-n1-2"}}
	for i := range e.Runs[1:] {
		publish(&e.Runs[1+i])
	}
	run.Published = append(run.Published, run.Published[3:]...) // a batch that was sent again
	return e
}

func TestAGoodHistoryOfSlotsHasNoViolations(t *testing.T) { require.Empty(t, check.Check(goodSlots())) }

// TestAGoodHistoryOfPolicies: a slot is left out while the run of an earlier one is unfinished, slots that are too late are
// left out together, and the last one is still in its jitter.
func TestAGoodHistoryOfPolicies(t *testing.T) {
	e := goodSlots()
	s := &e.Triggers[0]
	s.Alone = true
	for i := range e.Runs[1:] {
		e.Runs[1+i].Born, e.Runs[1+i].Died = int64(2*i+1), int64(2*i+2)
	}
	s.Fires[4].State, s.Fires[4].Reason = check.SlotSkipped, "the run t0305 of the slot is unfinished"
	e.Runs = append(e.Runs[:4], e.Runs[5:]...)
	require.Empty(t, check.Check(e))

	e = goodSlots()
	s = &e.Triggers[0]
	s.Late, s.Jitter, s.Until = time.Minute, 10*time.Second, minute(6).Add(time.Second)
	s.Fires[4].State, s.Fires[4].Run, s.Fires[4].RecordedAt = check.SlotSkipped, "", minute(6) // with 2 and 3
	s.Fires = append(s.Fires[:3], s.Fires[4:]...)
	e.Runs = append(e.Runs[:4], e.Runs[5:]...)
	require.Empty(t, check.Check(e))
}

// TestABackfillOfMissedSlotsHidesNothing: 3 was asked for, 4 is one of those that were left out with 2.
func TestABackfillOfMissedSlotsHidesNothing(t *testing.T) {
	e := goodSlots()
	s := &e.Triggers[0]
	s.BackfillFrom, s.BackfillUntil, s.Until, s.Latest = minute(3), minute(4), minute(6).Add(time.Second), minute(7)
	s.Fires, e.Runs = s.Fires[1:], append(e.Runs[:1], e.Runs[2:]...)
	for i, slot := range []int{3, 1, 2, 5, 6} {
		s.Fires[i].Slot = minute(slot)
		if slot != 1 {
			s.Fires[i].RecordedAt = minute(6)
		}
		for n := range e.Runs[1:] {
			if run := &e.Runs[1+n]; run.Name == s.Fires[i].Run {
				run.Slot = minute(slot)
			}
		}
	}
	require.Empty(t, check.Check(e))
	s.Fires = s.Fires[:len(s.Fires)-1]
	require.NotEmpty(t, check.Check(e))
}

// TestEveryBrokenPromiseToOthersIsFound does for slots, and for what leaves the server, what TestEveryBrokenPromiseIsFound
// does for runs.
func TestEveryBrokenPromiseToOthersIsFound(t *testing.T) {
	for _, tc := range []struct {
		promise, words string
		damage         func(*check.Evidence, *check.Trigger, *check.Run)
	}{
		{"I9", "never fired for 03:05:05", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.Fires = append(s.Fires[:2], s.Fires[3:]...) }},
		{"I9", "never fired for 03:09:05", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.Fires = s.Fires[:5] }},
		{"I9", "never fired for 03:01:05, which was asked for later", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.Fires = s.Fires[1:] }},
		{"I9", "is in state 1", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.Fires[2].State = 1 }},
		{"I9", "is in state 3: refused", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) {
			s.Fires[2].State, s.Fires[2].Reason = 3, "refused"
		}},
		{"I9", "has no run; it should be t0305", func(e *check.Evidence, _ *check.Trigger, _ *check.Run) { e.Runs[3].Rows = nil }},
		{"I9", "run other of trigger each-minute has no slot", func(e *check.Evidence, _ *check.Trigger, _ *check.Run) {
			e.Runs = append(e.Runs, check.Run{Name: "other", Trigger: "each-minute", Slot: minute(1)})
		}},
		{"I9", "has two runs, t0305 and other", func(e *check.Evidence, _ *check.Trigger, _ *check.Run) {
			e.Runs = append(e.Runs, check.Run{Name: "other", Trigger: "each-minute", Slot: minute(1)})
		}},
		{"I9", "two slots have the run t0305", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.Fires[4].Run = "t0305" }},
		{"I9", "begins at 03:05:06; its slot is 03:05:05", func(e *check.Evidence, _ *check.Trigger, _ *check.Run) {
			e.Runs[3].Slot = e.Runs[3].Slot.Add(time.Second)
		}},
		{"I9", "which its schedule does not have", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) {
			s.Fires[2].Slot = s.Fires[2].Slot.Add(time.Second)
		}},
		{"I9", "the clock showed at most", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.Until, s.Latest = minute(4), minute(4) }},
		{"I9", "it was active from", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.From = minute(1) }},
		{"I9", "only 1 of its later ones run", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.Fires[5].RecordedAt = minute(6) }},
		{"I9", "fired 5m0s too early", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.Fires[2].RecordedAt = minute(-4) }},
		{"I9", "was 1m0s late and should be left out", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.Late = 30 * time.Second }},
		{"I9", "was left out for no earlier run: busy", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) {
			s.Fires[4].State, s.Fires[4].Reason = check.SlotSkipped, "busy"
		}},
		{"I9", "was left out for no earlier run", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) {
			s.Alone, s.Fires[4].State, s.Fires[4].Reason = true, check.SlotSkipped, "t0309 is unfinished"
		}},
		{"I9", "was left out and has the run t0308", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) {
			s.Alone, s.Fires[4].State, s.Fires[4].Reason = true, check.SlotSkipped, "t0305 is unfinished"
		}},
		{"I9", "the run t0308 was unfinished when t0309 began", func(e *check.Evidence, s *check.Trigger, _ *check.Run) {
			s.Alone, e.Runs[4].Died, e.Runs[5].Born = true, 8, 7
		}},
		{"I9", "the run t0308 was unfinished when t0309 began", func(_ *check.Evidence, s *check.Trigger, _ *check.Run) { s.Alone = true }},
		{"I9", "nothing has replaced the run t0309", func(e *check.Evidence, s *check.Trigger, _ *check.Run) {
			s.Alone, s.Replaces, e.Runs[5].Aborts = true, true, []check.Abort{{Action: "a0"}}
		}},

		{"I17", "has no notification of a0 in phase 5 to ended", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Deliveries, r.Told = r.Deliveries[1:], r.Told[1:]
		}},
		{"I17", "has no notification of n3 in phase 9 to waits", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Deliveries, r.Told = r.Deliveries[:2], r.Told[:1]
		}},
		{"I17", "counts as delivered and its receiver has none", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Told = r.Told[1:] }},
		{"I17", "to ended is in state 1: no route", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Deliveries[0].State, r.Deliveries[0].Error = 1, "no route"
		}},
		{"I17", "to ended is in state 3", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Deliveries[0].State = check.Dead }},
		{"I17", "is refused, and in state 2", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Deliveries[1].State = check.Delivered }},
		{"I17", "which no rule asks for", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Deliveries[0].Phase = check.Failed }},
		{"I17", "to ended was about", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Told[0].Phase = check.Failed }},
		{"I17", "two notifications", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { // a repetition with another id
			again := r.Deliveries[0]
			again.ID = "4"
			r.Deliveries = append(r.Deliveries, again)
			r.Told = append(r.Told, check.Told{ID: "4", Rule: "ended", Phase: check.Succeeded})
		}},
		{"I17", "has the notification 5, which is not in the list", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Told = append(r.Told, check.Told{ID: "5", Rule: "ended", Phase: check.Succeeded})
		}},

		{"I18", "the event 12 was not published", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Published = r.Published[:11] }},
		{"I18", "the event 3 came when 2 was next", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Published[1], r.Published[2] = r.Published[2], r.Published[1]
		}},
		{"I18", "the event 13 was published and is not in the log", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Published = append(r.Published, check.Published{Seq: 13})
		}},
		{"I18", "and then", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Published[len(r.Published)-1].Phase = check.Failed
		}},
		{"I18", "was published as", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Published[0].Attempt = 2 }},

		{"I19", "began with the wrong secret: empty", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Notes = append(r.Notes, ledger.Line{Action: "n1", What: ledger.Secret, Note: "empty"})
		}},
		{"I19", "began; its secret does not exist", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Script.Secret = script.AbsentSecret }},
		{"I19", "failed although its secret exists", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Rows[1].Phase, r.Rows[1].ErrorMessage = check.Failed, "SecretMissing: no"
		}},
		{"I19", "failed, but not for its secret", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Script.Children[0].Secret, r.Rows[1].Phase, r.Rows[1].ErrorMessage = script.AbsentSecret, check.Failed, "Unavailable"
		}},

		{"I20", "n1 in phase 5 has 0 versions", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Artifacts = nil }},
		{"I20", "n1 in phase 5 has 2 versions", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Artifacts = append(r.Artifacts, check.Artifact{Name: "model", Action: "n1", Version: "r-n1-1"})
		}},
		{"I20", "n2 in phase 7 has 1 versions", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) {
			r.Artifacts = append(r.Artifacts, check.Artifact{Name: "model", Action: "n2", Version: "r-n2-1"})
		}},
		{"I20", "0 actions are known to have used an artifact, want 1", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Users = nil }},
		{"I24", "run r exists and there is no record of who created it", func(e *check.Evidence, _ *check.Trigger, _ *check.Run) {
			e.Audit.Events[0].Outcome = "failed"
		}},
		{"I24", "run r is recorded as created and does not exist", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Rows = nil }},
		{"I24", "the record is damaged: event 6 was changed", func(e *check.Evidence, _ *check.Trigger, _ *check.Run) {
			e.Audit.Problem = "event 6 was changed"
		}},
		{"I24", "the audit event 7 (run.view of []) was not sent", func(e *check.Evidence, _ *check.Trigger, _ *check.Run) {
			e.Audit.Sent = e.Audit.Sent[:5]
		}},
		{"I24", "the audit event 6 came when 5 was next", func(e *check.Evidence, _ *check.Trigger, _ *check.Run) {
			e.Audit.Sent[1], e.Audit.Sent[2] = e.Audit.Sent[2], e.Audit.Sent[1]
		}},
		{"I24", "was sent with the hash e6 and has other", func(e *check.Evidence, _ *check.Trigger, _ *check.Run) { e.Audit.Events[1].Hash = "other" }},
		{"I24", "was sent with the hash e5 and then with other", func(e *check.Evidence, _ *check.Trigger, _ *check.Run) { e.Audit.Sent[3].Hash = "other" }},

		{"I20", "n2 is said to have used an artifact", func(_ *check.Evidence, _ *check.Trigger, r *check.Run) { r.Users = []string{"n2"} }},
	} {
		t.Run(tc.promise+" "+tc.words, func(t *testing.T) {
			e := goodSlots()
			tc.damage(e, &e.Triggers[0], &e.Runs[0])
			var texts []string
			for _, v := range check.Check(e) {
				if v.Promise == tc.promise {
					texts = append(texts, v.Text)
				}
			}
			require.Contains(t, strings.Join(texts, "\n"), tc.words)
		})
	}
}
