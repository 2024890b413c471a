package queues

import (
	"slices"
	"strings"
)

// Set has the queues of an installation. It is immutable.
type Set struct {
	byName   map[string]*Queue
	fallback *Queue
	all      []*Queue
}

// New returns the set of the configured queues and the default queue.
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

// Of returns the queue that a stored name means. An empty or unconfigured name means the default queue, so that
// actions survive the removal of their queue from the configuration.
func (s *Set) Of(name string) *Queue {
	if q := s.byName[name]; q != nil {
		return q
	}
	return s.fallback
}

// Known reports whether callers may use a name. Without configured queues every name is allowed and is only a label,
// so that programs written for the queues of another installation run.
func (s *Set) Known(name string) bool {
	return name == "" || name == Default || s.byName[name] != nil || len(s.byName) == 0
}

// All returns every queue, in name order.
func (s *Set) All() []*Queue { return s.all }

// Default returns the default queue.
func (s *Set) Default() *Queue { return s.fallback }

// Names returns the names of all queues, in order.
func (s *Set) Names() []string {
	names := make([]string, len(s.all))
	for i, q := range s.all {
		names[i] = q.Name
	}
	return names
}

// Others returns the names of all queues but the default one, which every other name means.
func (s *Set) Others() []string {
	return slices.DeleteFunc(s.Names(), func(name string) bool { return name == Default })
}
