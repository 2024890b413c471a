// Package limits decides whether a limit holds a queued action back: that of its run, of its queue, or of the
// installation. Admission and the explanation of a waiting action call the same code, so they cannot disagree.
package limits

import "github.com/flyte-binary/flyte-binary/runs/queues"

// Limit names a limit on live actions.
type Limit uint8

// The limits, in the order in which they are checked.
const (
	None         Limit = iota
	Run                // actions of a run: max_action_concurrency
	QueueRuns          // runs of a queue: maxRuns; for root actions only
	QueueActions       // actions of a queue: maxActions
	Installation       // actions that run on clusters: runs.admission.maxLive
)

// Action is a queued action with the fields that limits depend on.
type Action struct {
	Queue *queues.Queue
	// Project and Person have the run.
	Project, Person string
	// RunID is 0 for a root action of a group: each is the first of a run of its own.
	RunID int64
	// RunLimit is how many actions of the run may be live at once; 0 means no limit.
	RunLimit int
	Root     bool
	// Executor says that the action runs on a cluster, which takes a place of the installation.
	Executor bool
}

// Decision says whether a limit holds an action back.
type Decision struct {
	// Limit is the first limit that is reached; None when the action may start.
	Limit Limit
	// Max and Used are the value of that limit and how much of it is taken.
	Max, Used int
}

// Admits reports whether no limit holds the action back.
func (d Decision) Admits() bool { return d.Limit == None }

// Decide says which limit holds an action back.
func (l *Load) Decide(a Action) Decision {
	if d := l.run(a.RunID, a.RunLimit); !d.Admits() {
		return d
	}
	if d := l.queue(a.Queue, a.Root); !d.Admits() {
		return d
	}
	return l.installation(a.Executor)
}

// RunFull reports whether a run is at its limit.
func (l *Load) RunFull(id int64, limit int) bool { return !l.run(id, limit).Admits() }

// QueueFull reports whether a queue is at one of its limits, for a root action or for a child.
func (l *Load) QueueFull(q *queues.Queue, root bool) bool { return !l.queue(q, root).Admits() }

// InstallationFull reports whether the installation has no place for an action.
func (l *Load) InstallationFull(executor bool) bool { return !l.installation(executor).Admits() }

func (l *Load) run(id int64, limit int) Decision { return reached(Run, limit, l.runs[id]) }

func (l *Load) queue(q *queues.Queue, root bool) Decision {
	taken := l.of(q)
	if root {
		if d := reached(QueueRuns, q.MaxRuns, taken.runs); !d.Admits() {
			return d
		}
	}
	return reached(QueueActions, q.MaxActions, taken.actions)
}

func (l *Load) installation(executor bool) Decision {
	if executor && l.live >= l.maxLive {
		return Decision{Limit: Installation, Max: l.maxLive, Used: l.live}
	}
	return Decision{}
}

// reached checks one limit; 0 means no limit.
func reached(limit Limit, most, used int) Decision {
	if most == 0 || used < most {
		return Decision{}
	}
	return Decision{Limit: limit, Max: most, Used: used}
}
