package store

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// Waker is told after each commit which runs changed. It must not block.
type Waker interface {
	Wake(runIDs ...int64)
}

// WriterDeps are what a Writer stands on.
type WriterDeps struct {
	Pool   *pgxpool.Pool
	Clock  clock.Clock
	Waker  Waker // may be nil
	Logger zerolog.Logger
}

// Writer makes all changes of actions, many in one transaction.
type Writer struct {
	config WriterConfig
	deps   WriterDeps
}

// NewWriter makes a writer; it does nothing before Start.
func NewWriter(config WriterConfig, deps WriterDeps) *Writer {
	return &Writer{config: config, deps: deps}
}

// Start implements lifecycle.Part.
func (w *Writer) Start(context.Context) error { return nil }

// Stop implements lifecycle.Part.
func (w *Writer) Stop(context.Context) error { return nil }
