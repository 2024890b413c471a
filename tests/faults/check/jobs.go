package check

import (
	"fmt"

	"github.com/flyte-binary/flyte-binary/tests/faults/connector"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// oneJobEach: no attempt has two jobs, each job is one of an attempt that there is, no job is left, and an action that succeeded did so by
// one job that did.
func oneJobEach(e *Evidence, f *findings) {
	for _, wrong := range e.WrongCalls {
		f.add("the connector was sent what is wrong: %s", wrong)
	}
	type attempt struct {
		run, action string
		number      int
	}
	keys, succeeded := map[attempt]string{}, map[string][]connector.Job{}
	for _, job := range e.Jobs {
		of := attempt{job.Run, job.Action, job.Attempt}
		if other, twice := keys[of]; twice {
			f.add("%s/%s attempt %d has the jobs %s and %s", job.Run, job.Action, job.Attempt, other, job.Key)
		}
		keys[of] = job.Key
		if !job.Ended && !job.Deleted && !job.Lost && !job.GivenUp {
			f.add("the job of %s/%s attempt %d is left", job.Run, job.Action, job.Attempt)
		}
		if job.Succeeded {
			name := job.Run + "/" + job.Action
			succeeded[name] = append(succeeded[name], job)
		}
		if row := e.rowOf(job.Run, job.Action); row == nil || int(row.Attempt) < job.Attempt {
			f.add("the job %s is of %s/%s attempt %d, which does not exist", job.Key, job.Run, job.Action, job.Attempt)
		}
	}
	for i := range e.Runs {
		nodes := nodesOf(&e.Runs[i])
		for _, row := range e.Runs[i].Rows {
			node, name := nodes[row.Name], fmt.Sprint(e.Runs[i].Name, "/", row.Name)
			if node.Via != script.ViaConnector || row.Phase != Succeeded || node.Cache != "" {
				continue
			}
			// A job that ended too late, or was lost afterwards, may have succeeded before another attempt began.
			if jobs := succeeded[name]; len(jobs) == 0 || !hasAttempt(jobs, int(row.Attempt)) {
				f.add("%s succeeded in attempt %d by none of its jobs", name, row.Attempt)
			}
		}
	}
}

func hasAttempt(jobs []connector.Job, attempt int) bool {
	for _, job := range jobs {
		if job.Attempt == attempt {
			return true
		}
	}
	return false
}

func (e *Evidence) rowOf(run, action string) *Row {
	for i := range e.Runs {
		if e.Runs[i].Name == run {
			return e.Runs[i].row(action)
		}
	}
	return nil
}
