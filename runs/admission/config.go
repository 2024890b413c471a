package admission

import (
	"fmt"
	"time"
)

// Config limits the live actions.
type Config struct {
	// MaxLive is how many live actions executors may have in the whole installation. Parents that wait for children
	// do not count, nor do actions that the runs service runs itself.
	MaxLive int `mapstructure:"maxLive"`
	// Batch is how many actions are admitted in one operation.
	Batch int `mapstructure:"batch"`
	// Poll is how often the loop reads the queue when nothing wakes it.
	Poll time.Duration `mapstructure:"poll"`
	// Lease is how long the replica that admits may be silent before another takes over.
	Lease time.Duration `mapstructure:"lease"`
}

// DefaultConfig suits a laptop and a small cluster.
func DefaultConfig() Config {
	return Config{MaxLive: 10_000, Batch: 500, Poll: 2 * time.Second, Lease: 6 * time.Second}
}

// Validate returns an error for the first invalid field.
func (c Config) Validate() error {
	switch {
	case c.MaxLive < 1:
		return fmt.Errorf("maxLive: must be positive, got %d", c.MaxLive)
	case c.Batch < 1:
		return fmt.Errorf("batch: must be positive, got %d", c.Batch)
	case c.Poll <= 0:
		return fmt.Errorf("poll: must be positive, got %s", c.Poll)
	case c.Lease < 3*time.Second:
		return fmt.Errorf("lease: must be at least 3s, got %s", c.Lease)
	}
	return nil
}
