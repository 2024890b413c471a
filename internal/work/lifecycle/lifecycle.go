// Package lifecycle defines how a long-lived part starts and stops, and runs a set of parts in order. Services
// implement Part; manager starts the parts in the order of their dependencies and stops them in reverse.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
)

// Part is a long-lived part of the process.
type Part interface {
	// Start starts the part and returns when it works; background work runs in its own goroutines. The
	// context bounds the start only. A failed Start leaves nothing running. Starting a running part does nothing.
	// After Stop a part stays stopped: Start returns ErrStopped.
	Start(ctx context.Context) error
	// Stop stops the part and waits for it, at most until the context ends. It may be called twice, and
	// before Start.
	Stop(ctx context.Context) error
}

// ErrStopped is returned by Start after Stop: a part is not started again.
var ErrStopped = errors.New("the part was stopped and cannot be started again")

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

// NewGroup creates a group of parts, dependencies first.
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

// Stop stops the started parts, last first, and returns every failure.
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
