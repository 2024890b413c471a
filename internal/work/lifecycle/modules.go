package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Module is one row of a process's table of modules. P is the process under construction: modules read from it what the
// modules that they need have put there, and add their own.
type Module[P any] struct {
	// Name names the module in the table, in targets, in logs and in errors.
	Name string
	// Needs are the modules that must be built and started before this one, where the target includes it. A module is
	// part of every target that includes a module which needs it.
	Needs []string
	// After are modules that must be built and started before this one if they are part of the target. They are not
	// made part of it.
	After []string
	// Build constructs the module. It returns Idle when there is nothing to start. What it opened and did not hand to the
	// returned Part must be registered with the process for closing. Required.
	Build func(ctx context.Context, process P) (Part, error)
}

// Idle is the Part of a module that has nothing to start or stop, such as a connection pool or a service without loops.
type Idle struct{}

var _ Part = Idle{}

// Start implements Part.
func (Idle) Start(context.Context) error { return nil }

// Stop implements Part.
func (Idle) Stop(context.Context) error { return nil }

// Modules is a table of modules. The order of its rows does not matter, except that it breaks ties.
type Modules[P any] []Module[P]

// Select returns the modules of a target: those named and all that they need, dependencies first. It fails when a name
// is unknown, used twice, or part of a cycle.
func (m Modules[P]) Select(names ...string) (Modules[P], error) {
	rows, err := m.rows()
	if err != nil {
		return nil, err
	}
	included := map[string]bool{}
	var include func(name, neededBy string) error
	include = func(name, neededBy string) error {
		row, ok := rows[name]
		if !ok {
			return fmt.Errorf("module %q, needed by %s, does not exist", name, neededBy)
		}
		if included[name] {
			return nil
		}
		included[name] = true
		for _, need := range m[row].Needs {
			if err := include(need, name); err != nil {
				return err
			}
		}
		return nil
	}
	for _, name := range names {
		if err := include(name, "the target"); err != nil {
			return nil, err
		}
	}
	return m.sorted(included)
}

// rows indexes the table by name.
func (m Modules[P]) rows() (map[string]int, error) {
	rows := make(map[string]int, len(m))
	for i, module := range m {
		if _, twice := rows[module.Name]; twice {
			return nil, fmt.Errorf("module %q is listed twice", module.Name)
		}
		rows[module.Name] = i
	}
	for _, module := range m {
		for _, name := range slices.Concat(module.Needs, module.After) {
			if _, ok := rows[name]; !ok {
				return nil, fmt.Errorf("module %q, needed by %s, does not exist", name, module.Name)
			}
		}
	}
	return rows, nil
}

// sorted puts the included modules into an order in which each comes after its dependencies.
func (m Modules[P]) sorted(included map[string]bool) (Modules[P], error) {
	var order Modules[P]
	done := map[string]bool{}
	for len(order) < len(included) {
		before := len(order)
		for _, module := range m {
			if !included[module.Name] || done[module.Name] {
				continue
			}
			waits := slices.ContainsFunc(slices.Concat(module.Needs, module.After), func(name string) bool { return included[name] && !done[name] })
			if waits {
				continue
			}
			done[module.Name] = true
			order = append(order, module)
		}
		if len(order) == before {
			return nil, fmt.Errorf("modules need each other in a cycle: %s", strings.Join(missing(m, included, done), ", "))
		}
	}
	return order, nil
}

func missing[P any](m Modules[P], included, done map[string]bool) []string {
	var names []string
	for _, module := range m {
		if included[module.Name] && !done[module.Name] {
			names = append(names, module.Name)
		}
	}
	return names
}

// Build builds the modules in order and returns them as a group, which starts them in that order and stops them in
// reverse. It stops at the first error, which names the module.
func (m Modules[P]) Build(ctx context.Context, process P) (*Group, error) {
	var parts []Named
	for _, module := range m {
		part, err := module.Build(ctx, process)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", module.Name, err)
		}
		parts = append(parts, Named{Name: module.Name, Part: part})
	}
	return NewGroup(parts...), nil
}

// Names lists the modules in the order of the table.
func (m Modules[P]) Names() []string {
	names := make([]string, len(m))
	for i, module := range m {
		names[i] = module.Name
	}
	return names
}
