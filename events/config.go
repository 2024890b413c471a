package events

import (
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/backoff"
)

// Config configures the service.
type Config struct {
	// MaxBatch is how many transitions one call to the runs service carries at most. The transitions of one report stay
	// together, even if there are more.
	MaxBatch int `mapstructure:"maxBatch"`
	// CallTimeout bounds one call, so that a call that hangs is retried.
	CallTimeout time.Duration `mapstructure:"callTimeout"`
	// Backoff is the pause before a failed call is retried.
	Backoff backoff.Config `mapstructure:"backoff"`
}

// DefaultConfig suits a runs service in the same process or the same cluster.
func DefaultConfig() Config {
	return Config{
		MaxBatch:    500,
		CallTimeout: 30 * time.Second,
		Backoff:     backoff.Config{First: 50 * time.Millisecond, Max: 5 * time.Second},
	}
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	switch {
	case c.MaxBatch <= 0:
		return fmt.Errorf("maxBatch: must be positive, got %d", c.MaxBatch)
	case c.CallTimeout <= 0:
		return fmt.Errorf("callTimeout: must be positive, got %s", c.CallTimeout)
	}
	if err := c.Backoff.Validate(); err != nil {
		return fmt.Errorf("backoff.%w", err)
	}
	return nil
}
