package check

import (
	"strings"

	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// Artifact is a version that the output of an action became.
type Artifact struct{ Name, Action, Version string }

// secretsOrNothing: no task began without the secret that it needs, or with another one.
func secretsOrNothing(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		nodes := nodesOf(run)
		for _, note := range run.Notes {
			switch {
			case note.What == ledger.Secret:
				f.add("%s/%s attempt %d began with the wrong secret: %s", run.Name, note.Action, note.Attempt, note.Note)
			case note.What == ledger.Start && nodes[note.Action].Secret == script.AbsentSecret:
				f.add("%s/%s attempt %d began; its secret does not exist", run.Name, note.Action, note.Attempt)
			}
		}
		for _, row := range run.Rows {
			failed := row.Phase == Failed && strings.Contains(row.ErrorMessage, "SecretMissing")
			if nodes[row.Name].Secret == script.AbsentSecret && row.Phase == Failed && !failed {
				f.add("%s/%s failed, but not for its secret: %s", run.Name, row.Name, row.ErrorMessage)
			}
			if nodes[row.Name].Secret != script.AbsentSecret && failed {
				f.add("%s/%s failed although its secret exists: %s", run.Name, row.Name, row.ErrorMessage)
			}
		}
	}
}

// artifactsOnce: each success that declares an artifact has registered one version of it, and nothing else has.
func artifactsOnce(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		versions := map[string][]string{}
		for _, artifact := range run.Artifacts {
			versions[artifact.Action] = append(versions[artifact.Action], artifact.Name+":"+artifact.Version)
		}
		nodes := nodesOf(run)
		for _, row := range run.Rows {
			want := 0
			if nodes[row.Name].Artifact != "" && row.Phase == Succeeded {
				want = 1
			}
			if got := versions[row.Name]; len(got) != want {
				f.add("%s/%s in phase %d has %d versions of artifacts, want %d: %s", run.Name, row.Name, row.Phase, len(got), want, some(got))
			}
		}
	}
}

// maxUsers is how many users of a version are kept for a run.
const maxUsers = 10

// usesAreKnown: the actions that used the artifact of the storm are known, up to a bound, and no others.
func usesAreKnown(e *Evidence, f *findings) {
	for i := range e.Runs {
		run := &e.Runs[i]
		readers := 0
		nodes := nodesOf(run)
		for _, row := range run.Rows {
			if nodes[row.Name].Reads {
				readers++
			}
		}
		for _, user := range run.Users {
			if !nodes[user].Reads {
				f.add("%s/%s is said to have used an artifact", run.Name, user)
			}
		}
		if want := min(readers, maxUsers); len(run.Users) != want {
			f.add("%s: %d actions are known to have used an artifact, want %d", run.Name, len(run.Users), want)
		}
	}
}
