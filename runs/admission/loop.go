// Package admission decides which queued actions may start. One replica runs the loop, the holder of a lease; its
// decisions are operations of runs/store.Writer.
package admission

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Deps are what the loop stands on.
type Deps struct {
	Pool   *pgxpool.Pool
	Writer *store.Writer
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Loop is the admission loop.
type Loop struct {
	config Config
	deps   Deps
}

// New makes the loop; it does nothing before Start.
func New(config Config, deps Deps) *Loop { return &Loop{config: config, deps: deps} }

// Wake implements store.Waker.
func (l *Loop) Wake(...int64) {}

// Start implements lifecycle.Part.
func (l *Loop) Start(context.Context) error { return nil }

// Stop implements lifecycle.Part.
func (l *Loop) Stop(context.Context) error { return nil }
