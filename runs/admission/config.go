package admission

import (
	"fmt"
	"time"
)

// Config limits what may be under way.
type Config struct {
	// MaxLive is how many actions may be admitted and unfinished in the whole installation, apart from those that the engine
	// runs itself. Parents that wait for children do not count.
	MaxLive int `mapstructure:"maxLive"`
	// Batch is how many actions are admitted in one operation.
	Batch int `mapstructure:"batch"`
	// Poll is how often the queue is looked at when nobody wakes the loop.
	Poll time.Duration `mapstructure:"poll"`
	// Lease is how long a holder may be silent before another replica takes over.
	Lease time.Duration `mapstructure:"lease"`
}

// DefaultConfig suits a laptop and a small cluster.
func DefaultConfig() Config {
	return Config{MaxLive: 10_000, Batch: 500, Poll: 2 * time.Second, Lease: 6 * time.Second}
}

// Validate names the first field that is wrong.
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
