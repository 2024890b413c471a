package check

import (
	"slices"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// asWritten: every action that no one stopped ended as its script says, whatever happened around it.
func asWritten(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		if !run.Acknowledged {
			continue
		}
		for name, node := range nodesOf(run) {
			row := run.row(name)
			if run.stopped(name) || (row != nil && ended(run, name)) || left(run, name) {
				continue
			}
			if row == nil {
				if !neverReached(run, name) {
					f.add("%s/%s was never recorded", run.Name, name)
				}
				continue
			}
			if expected := Expected(node); !slices.Contains(expected, row.Phase) {
				f.add("%s/%s ended in phase %d, its script says %v: %s", run.Name, name, row.Phase, expected, row.ErrorMessage)
			}
		}
	}
}

// Expected returns the phases in which an action that no one stopped may end.
func Expected(node script.Node) []int32 {
	switch {
	case node.Kind == script.Condition && node.Answer == script.AnswerAbort:
		return []int32{Aborted}
	case node.Kind == script.Condition && node.Answer == script.AnswerTimeout:
		return []int32{TimedOut}
	case node.Kind == script.Condition:
		return []int32{Succeeded}
	case node.AbortMillis > 0:
		return []int32{Aborted, Succeeded, Failed} // The abort may come too late.
	case node.Timeout > 0 || node.Deadline > 0:
		return []int32{TimedOut}
	case node.Fatal || node.Secret == script.AbsentSecret || node.Failures > node.Retries:
		return []int32{Failed}
	default:
		return []int32{Succeeded}
	}
}

// left reports whether an ancestor of an action ends without waiting.
func left(run *Run, name string) bool {
	for _, node := range run.Script.All() {
		if node.Leave && slices.ContainsFunc(node.All()[1:], func(below script.Node) bool { return below.Name == name }) {
			return true
		}
	}
	return false
}

// neverReached reports whether an ancestor of an action was stopped or came from the cache before it recorded its
// child.
func neverReached(run *Run, name string) bool {
	for _, node := range run.Script.All() {
		if !slices.ContainsFunc(node.All()[1:], func(below script.Node) bool { return below.Name == name }) {
			continue
		}
		row := run.row(node.Name)
		if row == nil || node.Cache != "" || run.stopped(node.Name) || ended(run, node.Name) {
			return true
		}
	}
	return false
}
