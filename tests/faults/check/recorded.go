package check

import (
	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
)

// nothingLost: what was acknowledged exists, and it ended.
func nothingLost(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		if run.Acknowledged && run.row("a0") == nil {
			f.add("run %s was acknowledged and does not exist", run.Name)
		}
		for _, note := range run.Notes {
			if note.What == ledger.Recorded && run.row(note.Child) == nil {
				f.add("%s/%s was acknowledged to %s and does not exist", run.Name, note.Child, note.Action)
			}
		}
		for _, row := range run.Rows {
			switch {
			case !Terminal(row.Phase):
				f.add("%s/%s has not ended: phase %d, attempt %d, hold %d", run.Name, row.Name, row.Phase, row.Attempt, row.Hold)
			case row.EndedAt == nil:
				f.add("%s/%s has ended without an end time", run.Name, row.Name)
			}
		}
	}
}

// terminalAbsorbs: the log has no gaps, an attempt ends once, only a later attempt recorded in the same transaction
// follows an end, and the row matches the log.
func terminalAbsorbs(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		last := map[int64]Event{}
		for n, event := range run.Events {
			if event.Seq != int64(n+1) {
				f.add("run %s: event %d of the log has the number %d", run.Name, n+1, event.Seq)
			}
			follows(run, last, event, f)
			last[event.Action] = event
		}
		if len(run.Rows) > 0 && run.LastSeq != int64(len(run.Events)) {
			f.add("run %s counts %d events and has %d", run.Name, run.LastSeq, len(run.Events))
		}
		for _, row := range run.Rows {
			event, ok := last[row.ID]
			switch {
			case !ok:
				f.add("%s/%s has no events", run.Name, row.Name)
			case event.Attempt != row.Attempt || event.Phase != row.Phase || event.Version != row.Version:
				f.add("%s/%s is at (%d, %d, %d) and its last event at (%d, %d, %d)", run.Name, row.Name,
					row.Attempt, row.Phase, row.Version, event.Attempt, event.Phase, event.Version)
			}
		}
	}
}

func follows(run *Run, last map[int64]Event, event Event, f *findings) {
	before, ok := last[event.Action]
	if !ok {
		return
	}
	name := "?"
	if row := run.byID(event.Action); row != nil {
		name = row.Name
	}
	// A lost attempt and the next one are recorded together, so that no one sees an end between them.
	retried := (before.Phase == Failed || before.Phase == TimedOut) && event.Attempt > before.Attempt && event.At.Equal(before.At)
	switch {
	case Terminal(before.Phase) && !retried:
		f.add("%s/%s: attempt %d phase %d follows the end in attempt %d phase %d", run.Name, name,
			event.Attempt, event.Phase, before.Attempt, before.Phase)
	case !less(before, event):
		f.add("%s/%s goes back from (%d, %d, %d) to (%d, %d, %d)", run.Name, name,
			before.Attempt, before.Phase, before.Version, event.Attempt, event.Phase, event.Version)
	}
}

func less(a, b Event) bool {
	if a.Attempt != b.Attempt {
		return a.Attempt < b.Attempt
	}
	if rank(a.Phase) != rank(b.Phase) {
		return rank(a.Phase) < rank(b.Phase)
	}
	return a.Version < b.Version
}

// watchesInOrder: what a client saw never goes back, and finally matches the database.
func watchesInOrder(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		for _, watcher := range run.Watched {
			for name, seen := range watcher.Seen {
				inOrder(run, watcher.Name, name, seen, f)
			}
			for _, row := range run.Rows {
				if seen := watcher.Seen[row.Name]; watcher.Whole && len(seen) == 0 {
					f.add("%s of run %s never saw %s", watcher.Name, run.Name, row.Name)
				}
			}
		}
	}
}

func inOrder(run *Run, watcher, name string, seen []Position, f *findings) {
	for n := 1; n < len(seen); n++ {
		a, b := seen[n-1], seen[n]
		if b.Attempt < a.Attempt || (b.Attempt == a.Attempt && rank(b.Phase) < rank(a.Phase)) {
			f.add("%s saw %s/%s go back from attempt %d phase %d to attempt %d phase %d", watcher, run.Name, name,
				a.Attempt, a.Phase, b.Attempt, b.Phase)
		}
		if a.Attempt == b.Attempt && Terminal(a.Phase) && a.Phase != b.Phase {
			f.add("%s saw %s/%s end twice, in phases %d and %d", watcher, run.Name, name, a.Phase, b.Phase)
		}
	}
	row := run.row(name)
	end := seen[len(seen)-1]
	switch {
	case row == nil:
		f.add("%s saw %s/%s, which does not exist", watcher, run.Name, name)
	case end.Phase != row.Phase || end.Attempt != row.Attempt:
		f.add("%s saw %s/%s last at attempt %d phase %d; it is at attempt %d phase %d", watcher, run.Name, name,
			end.Attempt, end.Phase, row.Attempt, row.Phase)
	}
}
