package events

import (
	"fmt"
	"time"
)

// Config configures the service.
type Config struct {
	// MaxBatch is how many transitions one call to the state machine carries at most; what one caller reports at
	// once is never divided, even when it is more.
	MaxBatch int `mapstructure:"maxBatch"`
	// CallTimeout bounds one call, so that a call that hangs is repeated.
	CallTimeout time.Duration `mapstructure:"callTimeout"`
	// FirstBackoff is the pause after the first failed call. It doubles with every further one.
	FirstBackoff time.Duration `mapstructure:"firstBackoff"`
	// MaxBackoff is the longest pause.
	MaxBackoff time.Duration `mapstructure:"maxBackoff"`
}

// DefaultConfig suits a state machine in the same process or the same cluster.
func DefaultConfig() Config {
	return Config{
		MaxBatch:     500,
		CallTimeout:  30 * time.Second,
		FirstBackoff: 50 * time.Millisecond,
		MaxBackoff:   5 * time.Second,
	}
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	switch {
	case c.MaxBatch <= 0:
		return fmt.Errorf("maxBatch: must be positive, got %d", c.MaxBatch)
	case c.CallTimeout <= 0:
		return fmt.Errorf("callTimeout: must be positive, got %s", c.CallTimeout)
	case c.FirstBackoff <= 0:
		return fmt.Errorf("firstBackoff: must be positive, got %s", c.FirstBackoff)
	case c.MaxBackoff < c.FirstBackoff:
		return fmt.Errorf("maxBackoff: must not be less than firstBackoff, got %s", c.MaxBackoff)
	}
	return nil
}
