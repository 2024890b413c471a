package limits

import (
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// Load is how much of each limit is taken: a snapshot plus the actions admitted since. It is not safe for concurrent
// use.
type Load struct {
	maxLive int
	live    int // actions that executors run
	queues  map[*queues.Queue]*taken
	runs    map[int64]int

	projects map[Project]int
	people   map[Person]int
}

// Project is a project in a queue.
type Project struct {
	Queue *queues.Queue
	Name  string
}

// Person is a person of a project in a queue.
type Person struct {
	Project
	Subject string
}

// Owner is who has the run of the action, in its queue.
func (a Action) Owner() Person {
	return Person{Project: Project{Queue: a.Queue, Name: a.Project}, Subject: a.Person}
}

type taken struct{ actions, runs int }

// Snapshot is the input of a Load.
type Snapshot struct {
	// MaxLive is the limit of the installation.
	MaxLive int
	// Live counts the live actions that executors run, including parents that wait for children. It is the load of
	// the installation when the scope is not everything.
	Live int
	// Scope is what was counted, Counted the result.
	Scope   worklists.LoadScope
	Counted *worklists.Load
}

// New returns the load of a snapshot. Queues and runs outside of the scope count as empty, so decisions are correct
// only for actions that Cover has added to the scope.
func New(set *queues.Set, s Snapshot) *Load {
	l := &Load{
		maxLive: s.MaxLive, live: s.Live, queues: map[*queues.Queue]*taken{}, runs: s.Counted.Runs,
		projects: map[Project]int{}, people: map[Person]int{},
	}
	if l.runs == nil {
		l.runs = map[int64]int{}
	}
	if s.Scope.All {
		l.live = 0
	}
	complete := map[int64]bool{} // runs that are counted in all queues already
	for _, id := range s.Scope.Runs {
		complete[id] = true
	}
	for _, part := range s.Counted.Parts {
		queue := set.Of(part.Queue)
		q := l.of(queue)
		q.actions += part.Actions
		l.own(Person{Project: Project{Queue: queue, Name: part.Project}, Subject: part.Person}, part.Actions)
		if part.Root {
			q.runs++
		}
		if s.Scope.All {
			l.live += part.Executor
		} else if !complete[part.RunID] {
			l.runs[part.RunID] += part.Actions
		}
	}
	return l
}

// Cover adds to a scope what must be counted to decide on an action: its queue and its run, where these have limits.
func Cover(scope *worklists.LoadScope, set *queues.Set, a Action) {
	if q := a.Queue; q.MaxActions > 0 || a.Root && q.MaxRuns > 0 {
		CoverQueue(scope, set, q)
	}
	if a.RunLimit > 0 {
		scope.Runs = append(scope.Runs, a.RunID)
	}
}

// CoverQueue adds all actions of a queue to a scope.
func CoverQueue(scope *worklists.LoadScope, set *queues.Set, q *queues.Queue) {
	if q == set.Default() {
		scope.All = true // every name that is not another queue's means the default queue
	} else {
		scope.Queues = addOnce(scope.Queues, q.Name)
	}
}

// addOnce keeps a list free of duplicates. An installation has few queues.
func addOnce(names []string, name string) []string {
	for _, known := range names {
		if known == name {
			return names
		}
	}
	return append(names, name)
}

// Add counts an admitted action.
func (l *Load) Add(a Action) {
	q := l.of(a.Queue)
	q.actions++
	if a.Root {
		q.runs++
	}
	if a.Executor {
		l.live++
	}
	if !a.Root { // a run with a root that waits has no other action that waits
		l.runs[a.RunID]++
	}
	l.own(a.Owner(), 1)
}

func (l *Load) own(person Person, actions int) {
	l.projects[person.Project] += actions
	l.people[person] += actions
}

// OfProject returns the number of counted actions of a project in a queue.
func (l *Load) OfProject(p Project) int { return l.projects[p] }

// OfPerson returns the number of counted actions of a person of a project in a queue.
func (l *Load) OfPerson(p Person) int { return l.people[p] }

// OfRun returns the number of counted actions of a run.
func (l *Load) OfRun(id int64) int { return l.runs[id] }

// OfQueue returns the number of counted actions of a queue.
func (l *Load) OfQueue(q *queues.Queue) int { return l.of(q).actions }

func (l *Load) of(q *queues.Queue) *taken {
	t := l.queues[q]
	if t == nil {
		t = &taken{}
		l.queues[q] = t
	}
	return t
}
