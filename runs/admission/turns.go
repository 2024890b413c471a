package admission

import "github.com/flyte-binary/flyte-binary/runs/limits"

// turns remembers when each owner last had an action admitted. It decides between owners with equally many places: in a
// queue with one place each has none when the place becomes free, and the oldest action would always belong to the project
// that came first. Owners who do not wait are remembered too, as one could otherwise be new each time it comes back. The
// memory ends when no action waits, and with the process, which costs a turn and no more. It has no deficits:
// docs/decisions/places-instead-of-deficits.md says why.
type turns struct {
	last     int64
	projects map[limits.Project]int64
	people   map[limits.Person]int64
}

func newTurns() *turns {
	return &turns{projects: map[limits.Project]int64{}, people: map[limits.Person]int64{}}
}

// take records a turn.
func (t *turns) take(person limits.Person) {
	t.last++
	t.projects[person.Project], t.people[person] = t.last, t.last
}

// ofProject and ofPerson are the numbers of the last turns; 0 without one.
func (t *turns) ofProject(p limits.Project) int64 { return t.projects[p] }
func (t *turns) ofPerson(p limits.Person) int64   { return t.people[p] }

// forget is for when no action waits.
func (t *turns) forget() {
	clear(t.projects)
	clear(t.people)
}
