package check

import (
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
)

// clustersAreHeard: an attempt is taken back only from a cluster that is away, and when that cluster is back, the pods of the attempt end
// before another attempt of the action begins there.
func clustersAreHeard(e *Evidence, f *findings) {
	for _, early := range e.Early {
		f.add("%s", early)
	}
	for i := range e.Runs {
		run := &e.Runs[i]
		for _, event := range run.Events {
			for _, both := range e.Overlaps {
				if event.Lost && event.Action == both.Action && event.Attempt == both.Earlier && event.Cluster == both.Cluster {
					f.add("run %s: attempt %d of action %d, which was taken back from cluster %s, and attempt %d have pods there at the same time",
						run.Name, both.Earlier, both.Action, both.Cluster, both.Later)
				}
			}
		}
	}
}

// oldPodsEndFirst: when a cluster is back, the pods of all attempts that it lost end before any new work begins there. Work is new if its
// action was queued after the loss: a cluster that has an action makes its next attempts by itself.
func oldPodsEndFirst(e *Evidence, f *findings) {
	queued, named := map[Life]time.Time{}, map[Life]string{} // by attempt, without the cluster
	lost := map[Life]bool{}
	for i := range e.Runs {
		for _, event := range e.Runs[i].Events {
			attempt := Life{Action: event.Action, Attempt: event.Attempt}
			if event.Lost {
				lost[attempt] = true
			}
			if _, known := queued[attempt]; known {
				continue
			}
			queued[attempt], named[attempt] = event.At, fmt.Sprintf("attempt %d of action %d of run %s", event.Attempt, event.Action, e.Runs[i].Name)
			before := Life{Action: event.Action, Attempt: event.Attempt - 1}
			if at, retried := queued[before]; retried && !lost[before] {
				queued[attempt] = at
			}
		}
	}
	lives := livesOf(e)
	for i := range e.Runs {
		for _, lost := range e.Runs[i].Events {
			old, had := lives[Life{lost.Cluster, lost.Action, lost.Attempt}]
			if !lost.Lost || !had {
				continue
			}
			for life, span := range lives {
				attempt := Life{Action: life.Action, Attempt: life.Attempt}
				if life.Cluster == lost.Cluster && queued[attempt].After(lost.At) && span.First.After(old.First) && !span.First.After(old.Last) {
					f.add("%s, which was taken back from cluster %s, still had pods there when %s began there, which was queued later",
						named[Life{Action: lost.Action, Attempt: lost.Attempt}], lost.Cluster, named[attempt])
				}
			}
		}
	}
}

// livesOf is when the pods of attempts lived: as the monitor saw it now and then, and as the processes of plain pods note it themselves.
func livesOf(e *Evidence) map[Life]Span {
	lives := map[Life]Span{}
	for life, span := range e.Lives {
		lives[life] = span
	}
	for i := range e.Runs {
		run, where := &e.Runs[i], map[Life]string{} // of attempts, without the cluster
		for _, event := range run.Events {
			if event.Phase != Queued && event.Cluster != "" {
				where[Life{Action: event.Action, Attempt: event.Attempt}] = event.Cluster
			}
		}
		nodes := nodesOf(run)
		for _, note := range run.Notes {
			row, node := run.row(note.Action), nodes[note.Action]
			if row == nil || node.Pool != "" || node.Via != "" || note.What != ledger.Start && note.What != ledger.Alive {
				continue
			}
			life := Life{Action: row.ID, Attempt: int32(note.Attempt)}
			if life.Cluster = where[life]; life.Cluster == "" {
				continue
			}
			span, known := lives[life]
			if !known || note.At.Before(span.First) {
				span.First = note.At
			}
			if note.At.After(span.Last) {
				span.Last = note.At
			}
			lives[life] = span
		}
	}
	return lives
}

// oneAttemptLives: an attempt begins only after the one before it has ended, one cluster alone reports about it, and what an attempt left
// that was taken back is no one's output.
func oneAttemptLives(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		last, reporter := map[int64]Event{}, map[int64]string{}
		for _, event := range run.Events {
			name := "?"
			if row := run.byID(event.Action); row != nil {
				name = row.Name
			}
			before, known := last[event.Action]
			if known && event.Attempt > before.Attempt {
				reporter[event.Action] = ""
				if !Terminal(before.Phase) {
					f.add("%s/%s: attempt %d began while attempt %d was in phase %d", run.Name, name, event.Attempt, before.Attempt, before.Phase)
				}
			}
			switch by := reporter[event.Action]; {
			case event.Phase == Queued || event.Cluster == "": // what ended the attempt before says that the next one waits
			case by == "":
				reporter[event.Action] = event.Cluster
			case by != event.Cluster:
				f.add("%s/%s: clusters %s and %s both report about attempt %d", run.Name, name, by, event.Cluster, event.Attempt)
			}
			last[event.Action] = event
		}
		for _, row := range run.Rows {
			if row.Astray {
				f.add("%s/%s succeeded in attempt %d with the outputs of another", run.Name, row.Name, row.Attempt)
			}
		}
	}
}
