package queues

import (
	"slices"
	"strings"
)

// Set has the queues of an installation. It never changes.
type Set struct {
	byName   map[string]*Queue
	fallback *Queue
	all      []*Queue
}

// New makes the set of the configured queues, with the default queue.
func New(configured []Queue) *Set {
	s := &Set{byName: make(map[string]*Queue, len(configured))}
	for _, q := range configured {
		s.byName[q.Name] = &q
		s.all = append(s.all, &q)
	}
	if s.fallback = s.byName[Default]; s.fallback == nil {
		s.fallback = &Queue{Name: Default}
		s.all = append(s.all, s.fallback)
	}
	slices.SortFunc(s.all, func(a, b *Queue) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Of is the queue that a stored name means. A name that is not configured, and none, mean the default queue; so what
// waits under a name that a changed configuration does not have any more is not lost.
func (s *Set) Of(name string) *Queue {
	if q := s.byName[name]; q != nil {
		return q
	}
	return s.fallback
}

// Known tells whether a name may be asked for. Without any configured queue every name may: it is a label then, which
// lets programs that name the queues of another installation run.
func (s *Set) Known(name string) bool {
	return name == "" || name == Default || s.byName[name] != nil || len(s.byName) == 0
}

// All has every queue, in the order of their names.
func (s *Set) All() []*Queue { return s.all }

// Default is the default queue.
func (s *Set) Default() *Queue { return s.fallback }

// Names has the names of all queues, in order.
func (s *Set) Names() []string {
	names := make([]string, len(s.all))
	for i, q := range s.all {
		names[i] = q.Name
	}
	return names
}

// Others has the names of all queues but the default one, which every other name means.
func (s *Set) Others() []string {
	return slices.DeleteFunc(s.Names(), func(name string) bool { return name == Default })
}
