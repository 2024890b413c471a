package check_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/tests/faults/check"
	"github.com/flyte-binary/flyte-binary/tests/faults/connector"
	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

var (
	created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ended   = created.Add(time.Second)
)

// good is a history in which every promise was kept: a parent with a child that failed once, one that was aborted, and one
// that a person answered.
func good() *check.Evidence {
	end := ended
	row := func(id int64, name, parent string, phase, attempt int32) check.Row {
		return check.Row{ID: id, Name: name, Parent: parent, Phase: phase, Attempt: attempt, EndedAt: &end, OutputExists: true}
	}
	seen := map[string][]check.Position{
		"a0": {{Attempt: 1, Phase: check.Queued}, {Attempt: 1, Phase: check.Running}, {Attempt: 1, Phase: check.Succeeded}},
		"n1": {{Attempt: 1, Phase: check.Running}, {Attempt: 2, Phase: check.Queued}, {Attempt: 2, Phase: check.Succeeded}},
		"n2": {{Attempt: 1, Phase: check.Running}, {Attempt: 1, Phase: check.Aborted}},
		"n3": {{Attempt: 1, Phase: check.Paused}, {Attempt: 1, Phase: check.Succeeded}},
	}
	e := &check.Evidence{
		Memory: 100, MemoryLimit: 200,
		Cached: []check.CacheEntry{{Key: "k", URI: "/o", Exists: true}},
		Jobs: []connector.Job{
			{Key: "k1", Run: "r", Action: "n1", Attempt: 1, Ended: true}, {Key: "k2", Run: "r", Action: "n1", Attempt: 2, Ended: true, Succeeded: true},
		},
		Runs: []check.Run{{
			Name: "r", Acknowledged: true, LastSeq: 12,
			Script: script.Node{Name: "a0", Kind: script.Task, Children: []script.Node{
				{Name: "n1", Kind: script.Task, Retries: 1, Failures: 1, Via: script.ViaConnector}, {Name: "n2", Kind: script.Task, AbortMillis: 10},
				{Name: "n3", Kind: script.Condition, Answer: script.AnswerSignal},
			}},
			Rows: []check.Row{
				row(1, "a0", "", check.Succeeded, 1), row(2, "n1", "a0", check.Succeeded, 2), row(3, "n2", "a0", check.Aborted, 1),
				row(4, "n3", "a0", check.Succeeded, 1),
			},
			Events: []check.Event{
				{Action: 1, Seq: 1, Attempt: 1, Phase: check.Queued},
				{Action: 1, Seq: 2, Attempt: 1, Phase: check.Running},
				{Action: 2, Seq: 3, Attempt: 1, Phase: check.Queued},
				{Action: 2, Seq: 4, Attempt: 1, Phase: check.Failed, ErrorKind: "USER"},
				{Action: 2, Seq: 5, Attempt: 2, Phase: check.Queued},
				{Action: 3, Seq: 6, Attempt: 1, Phase: check.Queued},
				{Action: 4, Seq: 7, Attempt: 1, Phase: check.Paused},
				{Action: 2, Seq: 8, Attempt: 2, Phase: check.Running},
				{Action: 3, Seq: 9, Attempt: 1, Phase: check.Aborted},
				{Action: 4, Seq: 10, Attempt: 1, Phase: check.Succeeded},
				{Action: 2, Seq: 11, Attempt: 2, Phase: check.Succeeded},
				{Action: 1, Seq: 12, Attempt: 1, Phase: check.Succeeded},
			},
			Notes: []ledger.Line{
				{Run: "r", Action: "a0", Attempt: 1, Pid: 7, What: ledger.Start},
				{Run: "r", Action: "a0", Attempt: 1, Pid: 7, What: ledger.Recorded, Child: "n1"},
				{Run: "r", Action: "n1", Attempt: 1, Pid: 8, What: ledger.Failing},
				{Run: "r", Action: "a0", Attempt: 1, Pid: 7, What: ledger.Seen, Child: "n1", Phase: check.Succeeded},
				{Run: "r", Action: "a0", Attempt: 1, Pid: 7, What: ledger.Seen, Child: "n2", Phase: check.Aborted},
				{Run: "r", Action: "a0", Attempt: 1, Pid: 7, What: ledger.Seen, Child: "n3", Phase: check.Succeeded},
			},
			Watched: []check.Watcher{{Name: "actions", Whole: true, Seen: seen}},
			Aborts:  []check.Abort{{Action: "n2", At: created}},
		}},
	}
	publish(&e.Runs[0])
	record(e)
	return e
}

// record puts it on record that the run was created and answered, and has the sink take the record, a part of it twice.
func record(e *check.Evidence) {
	run := "run " + e.Runs[0].Script.Tenant.Project() + "/" + script.Domain + "/r"
	e.Audit.Events = []check.AuditEvent{
		{Sequence: 5, Hash: "e5", Permission: "run.create", Outcome: "succeeded", Resources: []string{run}},
		{Sequence: 6, Hash: "e6", Permission: "action.signal", Outcome: "succeeded"}, {Sequence: 7, Hash: "e7", Permission: "run.view", Outcome: "refused"},
	}
	e.Audit.Sent = []check.AuditSent{{4, "e4"}, {5, "e5"}, {6, "e6"}, {5, "e5"}, {6, "e6"}, {7, "e7"}}
}

// publish lets the sink of events take all of a run.
func publish(run *check.Run) {
	names := map[int64]string{}
	for _, row := range run.Rows {
		names[row.ID] = row.Name
	}
	for _, event := range run.Events {
		run.Published = append(run.Published, check.Published{Action: names[event.Action], Seq: event.Seq, Attempt: event.Attempt, Phase: event.Phase})
	}
}

func TestAGoodHistoryHasNoViolations(t *testing.T) { require.Empty(t, check.Check(good())) }

// TestEveryBrokenPromiseIsFound breaks a good history in every way that the checker must detect.
func TestEveryBrokenPromiseIsFound(t *testing.T) {
	for _, tc := range []struct {
		promise, words string
		damage         func(*check.Evidence, *check.Run)
	}{
		{"I1", "run r was acknowledged and does not exist", func(_ *check.Evidence, r *check.Run) { r.Rows = nil }},
		{"I1", "r/n9 was acknowledged to a0", func(_ *check.Evidence, r *check.Run) {
			r.Notes = append(r.Notes, ledger.Line{Action: "a0", What: ledger.Recorded, Child: "n9"})
		}},
		{"I1", "has not ended: phase 4", func(_ *check.Evidence, r *check.Run) { r.Rows[1].Phase = check.Running }},
		{"I1", "without an end time", func(_ *check.Evidence, r *check.Run) { r.Rows[1].EndedAt = nil }},

		{"I2", "follows the end", func(_ *check.Evidence, r *check.Run) {
			r.Events = append(r.Events, check.Event{Action: 1, Seq: 13, Attempt: 1, Phase: check.Aborted})
		}},
		{"I2", "follows the end", func(_ *check.Evidence, r *check.Run) {
			r.Events = append(r.Events, check.Event{Action: 1, Seq: 13, Attempt: 2, Phase: check.Queued}) // after a success
		}},
		{"I2", "follows the end", func(_ *check.Evidence, r *check.Run) { // two ends of one attempt
			r.Events[4] = check.Event{Action: 2, Seq: 5, Attempt: 1, Phase: check.Failed, Version: 1}
		}},
		{"I2", "follows the end", func(_ *check.Evidence, r *check.Run) { // a retry after a visible terminal phase
			r.Events[4].At = r.Events[3].At.Add(time.Second)
		}},
		{"I2", "event 4 of the log has the number 5", func(_ *check.Evidence, r *check.Run) { r.Events = append(r.Events[:3], r.Events[4:]...) }},
		{"I2", "goes back", func(_ *check.Evidence, r *check.Run) { r.Events[7].Attempt = 1; r.Events[3].Phase = check.Running }},
		{"I2", "counts 13 events", func(_ *check.Evidence, r *check.Run) { r.LastSeq = 13 }},
		{"I2", "its last event at", func(_ *check.Evidence, r *check.Run) { r.Rows[0].Version = 3 }},
		{"I2", "has no events", func(_ *check.Evidence, r *check.Run) { r.Rows[3].ID = 99 }},

		{"I3", "began while another one lived", func(_ *check.Evidence, r *check.Run) {
			r.Notes = append(r.Notes, ledger.Line{Run: "r", Action: "n1", Attempt: 2, What: ledger.Overlap})
		}},
		{"I26", "silent for 4s", func(e *check.Evidence, _ *check.Run) { e.Early = []string{"r/n1 was silent for 4s"} }},
		{"I26", "have pods there at the same time", func(e *check.Evidence, r *check.Run) {
			r.Events[3].Lost, r.Events[3].Cluster = true, "east"
			e.Overlaps = []check.Overlap{{Cluster: "east", Action: 2, Earlier: 1, Later: 2}}
		}},
		{"I3", "two pods", func(e *check.Evidence, _ *check.Run) { e.Clashes = []string{"two pods"} }},

		{"I4", "its process did not", func(_ *check.Evidence, r *check.Run) { r.Notes[2].What = ledger.Start }},
		{"I4", "retried after 1 failures of its own with 0 retries", func(_ *check.Evidence, r *check.Run) {
			r.Script.Children[0].Retries = 0
		}},
		{"I4", "attempt 2 after 0 lost", func(_ *check.Evidence, r *check.Run) { r.Events[3].Phase = check.Running }},
		{"I4", "failed for good after 1 failures", func(_ *check.Evidence, r *check.Run) {
			r.Rows[1].Phase, r.Rows[1].ErrorKind = check.Failed, "USER"
		}},

		{"I5", "but was not aborted", func(_ *check.Evidence, r *check.Run) { r.Aborts = nil; late(&r.Rows[0]) }},
		{"I5", "had a live pod 1m30s after", func(_ *check.Evidence, r *check.Run) { r.Rows[2].Outlived = 90 * time.Second }},
		{"I5", "was aborted and is in phase 4", func(_ *check.Evidence, r *check.Run) { r.Rows[2].Phase = check.Running }},

		{"I6", "without having seen the end of n1", func(_ *check.Evidence, r *check.Run) { r.Notes = append(r.Notes[:3], r.Notes[4:]...) }},
		{"I6", "saw n1 end in phase 6", func(_ *check.Evidence, r *check.Run) { r.Notes[3].Phase = check.Failed }},
		{"I6", "waited forever", func(_ *check.Evidence, r *check.Run) { r.Notes[0].What = ledger.Hang }},
		{"I6", "could not record", func(_ *check.Evidence, r *check.Run) { r.Notes[1].What = ledger.Refused }},

		{"I7", "go back", func(_ *check.Evidence, r *check.Run) {
			seen := r.Watched[0].Seen
			seen["n1"] = []check.Position{seen["n1"][1], seen["n1"][0], seen["n1"][2]}
		}},
		{"I7", "end twice", func(_ *check.Evidence, r *check.Run) {
			r.Watched[0].Seen["n2"] = []check.Position{{1, check.Failed}, {1, check.Aborted}}
		}},
		{"I7", "saw r/a0 last at attempt 1 phase 4", func(_ *check.Evidence, r *check.Run) { r.Watched[0].Seen["a0"] = r.Watched[0].Seen["a0"][:2] }},
		{"I7", "never saw n3", func(_ *check.Evidence, r *check.Run) { delete(r.Watched[0].Seen, "n3") }},
		{"I7", "which does not exist", func(_ *check.Evidence, r *check.Run) {
			r.Watched[0].Seen["n9"] = []check.Position{{1, check.Queued}}
		}},

		{"I8", "points to /o, which does not exist", func(e *check.Evidence, _ *check.Run) { e.Cached[0].Exists = false }},
		{"I8", "two entries", func(e *check.Evidence, _ *check.Run) { e.Cached = append(e.Cached, e.Cached[0]) }},
		{"I8", "2 actions computed for the serialised key k", func(_ *check.Evidence, r *check.Run) {
			for i := range 2 {
				r.Script.Children[i].Cache, r.Script.Children[i].Serialized = "k", true
				r.Rows[i+1].CacheStatus = check.Populated
			}
		}},
		{"I8", "outputs do not exist", func(_ *check.Evidence, r *check.Run) { r.Rows[0].OutputExists = false }},

		{"I10", "TaskActions are left: x", func(e *check.Evidence, _ *check.Run) { e.TaskActions = []string{"x"} }},
		{"I10", "pods are left: y", func(e *check.Evidence, _ *check.Run) { e.Pods = []string{"y"} }},
		{"I10", "processes are left", func(e *check.Evidence, _ *check.Run) { e.Processes = []int{1} }},
		{"I10", "paused actions", func(_ *check.Evidence, r *check.Run) { r.Rows[0].PausedChildren = 1 }},

		{"I11", "MiB of memory", func(e *check.Evidence, _ *check.Run) { e.Memory = 300 }},

		{"I23", "south asked for north at 00:00:00.000, and at 00:00:00.000 the answer of /p has something of it", func(e *check.Evidence, _ *check.Run) {
			e.Shown = []check.Shown{{Caller: "south", Procedure: "/p", Of: "north"}}
		}},
		{"I23", "the answer of /p worked", func(e *check.Evidence, _ *check.Run) { // the role is that of another caller
			e.Shown = []check.Shown{{Caller: "south", Procedure: "/p", Of: "north", What: "worked"}}
			e.Visits = []check.Visit{{Caller: "guest", Of: "north"}}
		}},
		{"I23", "has something of it", func(e *check.Evidence, _ *check.Run) { // before the role was given
			e.Shown = []check.Shown{{Caller: "guest", Of: "north", At: created}}
			e.Visits = []check.Visit{{Caller: "guest", Of: "north", From: ended}}
		}},
		{"I23", "has something of it", func(e *check.Evidence, _ *check.Run) { // after it was taken
			e.Shown = []check.Shown{{Caller: "guest", Of: "north", Begun: created, At: ended.Add(5 * time.Second)}}
			e.Visits = []check.Visit{{Caller: "guest", Of: "north", Until: ended, Grace: 5 * time.Second}}
		}},
		{"I23", "south saw nothing of its own in 7 answers", func(e *check.Evidence, _ *check.Run) { e.Asked = []check.Asked{{Caller: "south", Calls: 7}} }},
		{"I23", "were compressed", func(e *check.Evidence, _ *check.Run) { e.Asked = []check.Asked{{Caller: "south", Own: 1, Blind: true}} }},
		{"I23", "r/n1 has outputs of another tenant", func(_ *check.Evidence, r *check.Run) { r.Rows[1].Foreign = true }},

		{"usage", "r/a0 has a curve of attempt 2 of 1", func(e *check.Evidence, _ *check.Run) {
			e.Curves = []check.Curve{{Action: "r/a0", Attempt: 2, Attempts: 1, Points: []time.Time{created}}}
		}},
		{"usage", "r/a0 attempt 1 has a curve of 0 points", func(e *check.Evidence, _ *check.Run) {
			e.Curves = []check.Curve{{Action: "r/a0", Attempt: 1, Attempts: 1}}
		}},
		{"usage", "r/a0 attempt 1 has a point at " + created.String() + " after one at", func(e *check.Evidence, _ *check.Run) {
			e.Curves = []check.Curve{{Action: "r/a0", Attempt: 1, Attempts: 1, Points: []time.Time{ended, created}}}
		}},
		{"I22", "worker 9 of nested ran 2 attempts with 1 slots when r/n2 began", func(_ *check.Evidence, r *check.Run) {
			inPool(r, script.NestedPool, 9, 9)
		}},
		{"I22", "flat had 4 workers of at most 3", func(_ *check.Evidence, r *check.Run) {
			inPool(r, script.FlatPool, 6, 7, 8, 9, 6, 7, 8, 9)
		}},

		{"I25", "r/n1 attempt 1 has the jobs k1 and k3", func(e *check.Evidence, _ *check.Run) {
			e.Jobs = append(e.Jobs, connector.Job{Key: "k3", Run: "r", Action: "n1", Attempt: 1, Ended: true})
		}},
		{"I25", "the job of r/n1 attempt 1 is left", func(e *check.Evidence, _ *check.Run) { e.Jobs[0].Ended = false }},
		{"I25", "r/n1 attempt 3, which does not exist", func(e *check.Evidence, _ *check.Run) { e.Jobs[0].Attempt = 3 }},
		{"I25", "r/n9 attempt 1, which does not exist", func(e *check.Evidence, _ *check.Run) { e.Jobs[0].Action = "n9" }},
		{"I25", "r/n1 succeeded in attempt 2 by none of its jobs", func(e *check.Evidence, _ *check.Run) { e.Jobs[1].Succeeded = false }},
		{"I25", "r/n1 succeeded in attempt 2 by none of its jobs", func(e *check.Evidence, _ *check.Run) { // by that of another attempt
			e.Jobs[0].Succeeded, e.Jobs[1].Succeeded = true, false
		}},
		{"I26", "r/n1: attempt 2 began while attempt 1 was in phase 4", func(_ *check.Evidence, r *check.Run) { r.Events[3].Phase = check.Running }},
		{"I26", "r/n1: clusters east and west both report about attempt 2", func(_ *check.Evidence, r *check.Run) {
			r.Events[7].Cluster, r.Events[10].Cluster = "east", "west"
		}},
		{"I26", "r/n1 succeeded in attempt 2 with the outputs of another", func(_ *check.Evidence, r *check.Run) { r.Rows[1].Astray = true }},
		{"I26", "attempt 1 of action 2 of run r, which was taken back from cluster east, still had pods there when attempt 1 of action 3 of run r began there", func(e *check.Evidence, r *check.Run) {
			at := func(second int) time.Time { return created.Add(time.Duration(second) * time.Second) }
			for i := range r.Events {
				r.Events[i].At = at(i)
			}
			r.Events[3].Lost, r.Events[3].Cluster = true, "east"
			e.Lives = map[check.Life]check.Span{
				{Cluster: "east", Action: 2, Attempt: 1}: {First: at(2), Last: at(20)},
				{Cluster: "east", Action: 3, Attempt: 1}: {First: at(19), Last: at(30)},
			}
		}},
		{"I26", "attempt 1 of action 3 of run r, which was taken back from cluster east, still had pods there when attempt 1 of action 1 of run r began there", func(_ *check.Evidence, r *check.Run) {
			at := func(second int) time.Time { return created.Add(time.Duration(second) * time.Second) }
			for i := range r.Events {
				r.Events[i].At = at(10 + i)
			}
			r.Events[1].Cluster, r.Events[8].Cluster, r.Events[8].Lost, r.Events[8].At = "east", "east", true, at(5)
			for i := range r.Notes {
				r.Notes[i].At = at(19)
			}
			r.Notes = append(r.Notes, // no look at the pods saw any of it
				ledger.Line{Run: "r", Action: "n2", Attempt: 1, What: ledger.Start, At: at(2)},
				ledger.Line{Run: "r", Action: "n2", Attempt: 1, What: ledger.Alive, At: at(20)})
		}},
		{"I25", "was sent what is wrong: no token", func(e *check.Evidence, _ *check.Run) { e.WrongCalls = []string{"no token"} }},

		{"outcome", "its script says [5]", func(_ *check.Evidence, r *check.Run) { r.Rows[0].Phase = check.Failed }},
		{"outcome", "n4 was never recorded", func(_ *check.Evidence, r *check.Run) {
			r.Script.Children = append(r.Script.Children, script.Node{Name: "n4", Kind: script.Sleep})
		}},
	} {
		t.Run(tc.promise+" "+tc.words, func(t *testing.T) {
			e := good()
			tc.damage(e, &e.Runs[0])
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

// inPool has a child n2 that started again and again in a pool, each time in the worker with the next of these processes. Each
// attempt runs for two and a half seconds, the next begins a second later.
func inPool(r *check.Run, pool string, workers ...int) {
	r.Script.Children[1].Pool = pool
	for i, worker := range workers {
		at := created.Add(time.Duration(i) * time.Second)
		r.Notes = append(r.Notes,
			ledger.Line{At: at, Run: "r", Action: "n2", Attempt: i + 1, Pid: 100 + i, Parent: worker, What: ledger.Start},
			ledger.Line{At: at.Add(2500 * time.Millisecond), Run: "r", Action: "n2", Attempt: i + 1, Pid: 100 + i, What: ledger.Done})
	}
}

// TestAVisitorSeesWhatItMay: a role is given and taken, and what it shows comes until a moment later.
func TestAVisitorSeesWhatItMay(t *testing.T) {
	e := good()
	e.Visits = []check.Visit{{Caller: "guest", Of: "north", From: created, Until: ended, Grace: 5 * time.Second}}
	for _, at := range []time.Time{created, ended, ended.Add(4 * time.Second)} {
		e.Shown = append(e.Shown, check.Shown{Caller: "guest", Of: "north", Begun: created, At: at})
	}
	e.Asked = []check.Asked{{Caller: "south", Calls: 7, Own: 1}}
	require.Empty(t, check.Check(e))
}

// TestAnAttemptThatWasReplacedIsRefused: the process of an attempt that was replaced is refused.
func TestAnAttemptThatWasReplacedIsRefused(t *testing.T) {
	e := good()
	r := &e.Runs[0]
	r.Notes = append(r.Notes, ledger.Line{Run: "r", Action: "n1", Attempt: 1, What: ledger.Refused, Note: "its attempt has ended"})
	require.Empty(t, check.Check(e))
}

// late lets a parent end after its children.
func late(row *check.Row) {
	end := ended.Add(time.Minute)
	row.EndedAt = &end
}

func TestWhatIsBelowAnAbortIsNotHeldToItsScript(t *testing.T) {
	e := good()
	run := &e.Runs[0]
	run.Script.Children[1].Children = []script.Node{{Name: "n5", Kind: script.Task}}
	require.Empty(t, check.Check(e), "its parent was stopped before it recorded it")
}

// TestARetryOfTheClusterItselfIsNotNew: the cluster had the action before it was lost.
func TestARetryOfTheClusterItselfIsNotNew(t *testing.T) {
	at := func(second int) time.Time { return created.Add(time.Duration(second) * time.Second) }
	e := good()
	events := e.Runs[0].Events
	for i := range events {
		events[i].At = at(i)
	}
	events[5].At, events[8].Lost, events[8].Cluster, events[8].At = at(1), true, "east", at(3)
	e.Lives = map[check.Life]check.Span{
		{Cluster: "east", Action: 3, Attempt: 1}: {First: at(2), Last: at(20)},
		{Cluster: "east", Action: 2, Attempt: 2}: {First: at(10), Last: at(30)},
	}
	for _, violation := range check.Check(e) {
		require.NotContains(t, fmt.Sprint(violation), "still had pods")
	}
	events[3].Lost = true // then another placement made the second attempt
	require.Contains(t, fmt.Sprint(check.Check(e)), "still had pods there when attempt 2 of action 2")
}

func TestManyViolationsAreCounted(t *testing.T) {
	e := good()
	for range 100 {
		e.Clashes = append(e.Clashes, "again")
	}
	found := check.Check(e)
	require.Len(t, found, 21)
	require.Contains(t, found[20].String(), "80 more")
}
