// Package engine serves the internal door of runs towards executors: which actions should run, and what became of
// them. It reads the store; changes go through runs/store.Writer.
package engine

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// Deps are what the package stands on.
type Deps struct {
	Pool   *pgxpool.Pool
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Assignments tells executors what should run.
type Assignments struct {
	config Config
	deps   Deps
}

// NewAssignments makes it; nothing runs until somebody watches.
func NewAssignments(config Config, deps Deps) *Assignments {
	return &Assignments{config: config, deps: deps}
}

// Wake implements store.Waker.
func (a *Assignments) Wake(...int64) {}
