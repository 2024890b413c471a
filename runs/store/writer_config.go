package store

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// WriterConfig bounds the batched writes.
type WriterConfig struct {
	// MaxBatch is the largest number of operations in one transaction.
	MaxBatch int `config:"maxBatch"`
	// MaxSubtree is how many actions a transaction aborts because an action above them ended. The rest of a larger subtree
	// follows in transactions of this size.
	MaxSubtree int `config:"maxSubtree"`
	// MaxQueue is how many operations may wait. Beyond it, calls fail with ResourceExhausted.
	MaxQueue int `config:"maxQueue"`
	// RetryMin is the pause after the first failed try while Postgres is unavailable; it grows with every further one. Defaults
	// to 20ms.
	RetryMin time.Duration `config:"retryMin"`
	// RetryMax is the longest pause between tries. Defaults to 2s.
	RetryMax time.Duration `config:"retryMax"`
	// CommitTimeout bounds one try of one transaction. A batch that takes longer is committed in halves; an operation
	// that alone takes longer fails with Unavailable.
	CommitTimeout time.Duration `config:"commitTimeout"`
}

// DefaultWriterConfig suits one Postgres on a local disk.
func DefaultWriterConfig() WriterConfig {
	return WriterConfig{
		MaxBatch:      250,
		MaxSubtree:    500,
		MaxQueue:      50_000,
		RetryMin:      20 * time.Millisecond,
		RetryMax:      2 * time.Second,
		CommitTimeout: 30 * time.Second,
	}
}

// Validate returns an error for the first invalid field.
func (c WriterConfig) Validate() error {
	var found invalid.Fields
	found.If(c.MaxBatch < 1 || c.MaxBatch > 10_000, "maxBatch: must be from 1 to 10000, got %d", c.MaxBatch)
	found.If(c.MaxSubtree < 1 || c.MaxSubtree > 10_000, "maxSubtree: must be from 1 to 10000, got %d", c.MaxSubtree)
	found.If(c.MaxQueue < c.MaxBatch, "maxQueue: must be at least maxBatch, got %d", c.MaxQueue)
	found.If(c.RetryMin <= 0, "retryMin: must be positive, got %s", c.RetryMin)
	found.If(c.RetryMax < c.RetryMin, "retryMax: must be at least retryMin, got %s", c.RetryMax)
	found.If(c.CommitTimeout <= 0, "commitTimeout: must be positive, got %s", c.CommitTimeout)
	return found.Err()
}
