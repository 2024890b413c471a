package admission

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
)

// Config limits the live actions.
type Config struct {
	// MaxLive is how many live actions executors may have in the whole installation. Parents that wait for children
	// do not count, nor do actions that the runs service runs itself. While the API server of the cluster is slow, fewer
	// are admitted.
	MaxLive int `config:"maxLive"`
	// Batch is how many actions are admitted in one operation.
	Batch int `config:"batch"`
	// Poll is how often the loop reads the queue when nothing wakes it, and counts the live actions. Default 10 s.
	Poll time.Duration `config:"poll"`
	// Lease is how long the replica that admits may be silent before another takes over.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig suits a laptop and a small cluster.
func DefaultConfig() Config {
	return Config{MaxLive: 10_000, Batch: 500, Poll: 10 * time.Second, Lease: 6 * time.Second}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.MaxLive < 1, "maxLive: must be positive, got %d", c.MaxLive)
	found.If(c.Batch < 1, "batch: must be positive, got %d", c.Batch)
	found.If(c.Poll <= 0, "poll: must be positive, got %s", c.Poll)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}
