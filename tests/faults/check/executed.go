package check

import (
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// oneLivePod: no two processes of one attempt lived at the same time.
func oneLivePod(e *Evidence, f *findings) {
	for i := range e.Runs {
		for _, note := range e.Runs[i].Notes {
			if note.What == ledger.Overlap {
				f.add("%s/%s attempt %d: process %d began while another one lived", note.Run, note.Action, note.Attempt, note.Pid)
			}
		}
	}
	for _, clash := range e.Clashes {
		f.add("%s", clash)
	}
}

// budgets: only failures of its own use up an action's retries, and never more than it has; each failure charged to the
// task is one that it noted.
func budgets(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		nodes := nodesOf(run)
		noted := map[string]bool{}
		for _, note := range run.Notes {
			if note.What == ledger.Failing {
				noted[fmt.Sprint(note.Action, " ", note.Attempt)] = true
			}
		}
		users, forgiven, losses := map[string]int{}, map[string]int{}, map[string]int32{}
		for _, event := range run.Events {
			row := run.byID(event.Action)
			if row == nil || (event.Phase != Failed && event.Phase != TimedOut) {
				continue
			}
			losses[row.Name]++
			if event.ErrorKind != "USER" {
				continue
			}
			users[row.Name]++
			if event.Attempt < row.Attempt {
				forgiven[row.Name]++
			}
			if nodes[row.Name].Secret == script.AbsentSecret {
				continue // It fails before it begins.
			}
			if event.Phase == Failed && !noted[fmt.Sprint(row.Name, " ", event.Attempt)] {
				f.add("%s/%s attempt %d failed by itself according to the log; its process did not", run.Name, row.Name, event.Attempt)
			}
		}
		for _, row := range run.Rows {
			node, ok := nodes[row.Name]
			if !ok || node.Kind != script.Task {
				continue
			}
			if forgiven[row.Name] > node.Retries {
				f.add("%s/%s was retried after %d failures of its own with %d retries", run.Name, row.Name, forgiven[row.Name], node.Retries)
			}
			if row.Attempt > losses[row.Name]+1 {
				f.add("%s/%s is at attempt %d after %d lost attempts", run.Name, row.Name, row.Attempt, losses[row.Name])
			}
			if row.Phase == Failed && row.ErrorKind == "USER" && !node.Fatal && users[row.Name] <= node.Retries {
				f.add("%s/%s failed for good after %d failures of its own with %d retries: %s", run.Name, row.Name,
					users[row.Name], node.Retries, row.ErrorMessage)
			}
		}
	}
}

// abortGrace is how long the pods of an aborted subtree may live. They end within three seconds on a quiet machine, within
// twenty where every core has three programs to run. A parent that was missed waits for its children for minutes.
const abortGrace = time.Minute

// abortsStop: nothing of an aborted subtree is alive, and no action is ABORTED that no one stopped.
func abortsStop(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		for _, row := range run.Rows {
			if row.Phase == Aborted && !run.stopped(row.Name) && !parentEnded(run, row) {
				f.add("%s/%s is ABORTED, but was not aborted", run.Name, row.Name)
			}
			if row.Outlived > abortGrace && run.stopped(row.Name) {
				f.add("%s/%s was aborted and had a live pod %v after", run.Name, row.Name, row.Outlived.Round(time.Second))
			}
		}
		for _, abort := range run.Aborts {
			if row := run.row(abort.Action); row != nil && !Terminal(row.Phase) {
				f.add("%s/%s was aborted and is in phase %d", run.Name, abort.Action, row.Phase)
			}
		}
	}
}

// parentEnded reports whether the action ended after its parent had, and so because of it. The order is that of the log: a
// clock that steps back gives a child's end an earlier time.
func parentEnded(run *Run, row Row) bool {
	parent := run.row(row.Parent)
	return parent != nil && parent.EndedAt != nil && run.lastEvent(parent.ID) < run.lastEvent(row.ID)
}

// lastEvent is the number of an action's last event; 0 when it has none.
func (r *Run) lastEvent(id int64) (last int64) {
	for _, event := range r.Events {
		if event.Action == id {
			last = max(last, event.Seq)
		}
	}
	return last
}

// parentsSee: a parent that succeeded saw the end of each of its children, and the end that the database has.
func parentsSee(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		seen := map[string]map[string]int32{}
		for _, note := range run.Notes {
			switch note.What {
			case ledger.Seen:
				if seen[note.Action] == nil {
					seen[note.Action] = map[string]int32{}
				}
				seen[note.Action][note.Child] = note.Phase
				if row := run.row(note.Child); row != nil && row.Phase != note.Phase {
					f.add("%s/%s saw %s end in phase %d; it ended in %d", run.Name, note.Action, note.Child, note.Phase, row.Phase)
				}
			case ledger.Hang:
				f.add("%s/%s waited forever: %s", run.Name, note.Action, note.Note)
			case ledger.Refused:
				row := run.row(note.Action)
				replaced := row != nil && note.Attempt < int(row.Attempt) // its token ended with it
				if !replaced && !run.stopped(note.Action) && !ended(run, note.Action) {
					f.add("%s/%s could not record %s: %s", run.Name, note.Action, note.Child, note.Note)
				}
			}
		}
		for name, node := range nodesOf(run) {
			row := run.row(name)
			if row == nil || row.Phase != Succeeded || node.Leave || node.Kind != script.Task || node.Cache != "" {
				continue
			}
			for _, child := range node.Children {
				if _, ok := seen[name][child.Name]; !ok {
					f.add("%s/%s succeeded without having seen the end of %s", run.Name, name, child.Name)
				}
			}
		}
	}
}

// ended reports whether something above an action ended, so that it was stopped.
func ended(run *Run, name string) bool {
	for row := run.row(name); row != nil && row.Parent != ""; row = run.row(row.Parent) {
		if parentEnded(run, *row) {
			return true
		}
	}
	return false
}

func nodesOf(run *Run) map[string]script.Node {
	nodes := map[string]script.Node{}
	for _, node := range run.Script.All() {
		nodes[node.Name] = node
	}
	return nodes
}
