// Package lifecycle says how a long-lived part starts and stops, and runs a set of them in order. Services
// implement Part; manager starts the parts in the order of their dependencies and stops them in reverse.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
)

// Part is a long-lived part of the process.
type Part interface {
	// Start brings the part up and returns when it works; what goes on runs in goroutines of its own. The
	// context bounds the start only. A failed Start leaves nothing running.
	Start(ctx context.Context) error
	// Stop ends the part and waits for it, at most until the context ends. It may be called twice, and
	// before Start.
	Stop(ctx context.Context) error
}

// Named pairs a part with the name it has in logs.
type Named struct {
	Name string
	Part Part
}

// Group starts parts in order and stops them in reverse.
type Group struct {
	parts   []Named
	started int
}

// NewGroup makes a group of parts, dependencies first.
func NewGroup(parts ...Named) *Group { return &Group{parts: parts} }

// Start starts every part; when one fails, those before it are stopped again.
func (g *Group) Start(ctx context.Context) error {
	for _, part := range g.parts {
		if err := part.Part.Start(ctx); err != nil {
			return errors.Join(fmt.Errorf("start %s: %w", part.Name, err), g.Stop(context.WithoutCancel(ctx)))
		}
		g.started++
	}
	return nil
}

// Stop stops what was started, last first, and reports every failure.
func (g *Group) Stop(ctx context.Context) error {
	var failures []error
	for ; g.started > 0; g.started-- {
		part := g.parts[g.started-1]
		if err := part.Part.Stop(ctx); err != nil {
			failures = append(failures, fmt.Errorf("stop %s: %w", part.Name, err))
		}
	}
	return errors.Join(failures...)
}
