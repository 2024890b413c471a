package actions

import (
	"fmt"
	"time"
)

// Config configures the service.
type Config struct {
	// CallTimeout bounds each call to the state machine. It is less than the 5 s that the SDK waits for Enqueue, so
	// that the SDK gets an answer it understands instead of its own deadline.
	CallTimeout time.Duration `mapstructure:"callTimeout"`
	// Watch configures WatchForUpdates.
	Watch WatchConfig `mapstructure:"watch"`
}

// WatchConfig configures WatchForUpdates.
type WatchConfig struct {
	// MaxLifetime is how long one stream lasts; then it ends cleanly and the client subscribes again.
	MaxLifetime time.Duration `mapstructure:"maxLifetime"`
	// MaxSilence is how long the state machine may send nothing, not even a heartbeat, before it is asked anew.
	MaxSilence time.Duration `mapstructure:"maxSilence"`
	// MaxOutage is how long the state machine may be away before the stream ends with unavailable.
	MaxOutage time.Duration `mapstructure:"maxOutage"`
	// FirstBackoff is the pause after the first failure to reach the state machine. It doubles with every further one.
	FirstBackoff time.Duration `mapstructure:"firstBackoff"`
	// MaxBackoff is the longest pause.
	MaxBackoff time.Duration `mapstructure:"maxBackoff"`
}

// DefaultConfig suits the released SDK.
func DefaultConfig() Config {
	return Config{
		CallTimeout: 4 * time.Second,
		Watch: WatchConfig{
			MaxLifetime:  time.Hour,
			MaxSilence:   time.Minute,
			MaxOutage:    20 * time.Second,
			FirstBackoff: 100 * time.Millisecond,
			MaxBackoff:   2 * time.Second,
		},
	}
}

// Validate names the first field that is wrong.
func (c Config) Validate() error {
	if c.CallTimeout <= 0 {
		return fmt.Errorf("callTimeout: must be positive, got %s", c.CallTimeout)
	}
	if err := c.Watch.Validate(); err != nil {
		return fmt.Errorf("watch.%w", err)
	}
	return nil
}

// Validate names the first field that is wrong.
func (c WatchConfig) Validate() error {
	switch {
	case c.MaxLifetime <= 0:
		return fmt.Errorf("maxLifetime: must be positive, got %s", c.MaxLifetime)
	case c.MaxSilence <= 0:
		return fmt.Errorf("maxSilence: must be positive, got %s", c.MaxSilence)
	case c.MaxOutage <= 0:
		return fmt.Errorf("maxOutage: must be positive, got %s", c.MaxOutage)
	case c.FirstBackoff <= 0:
		return fmt.Errorf("firstBackoff: must be positive, got %s", c.FirstBackoff)
	case c.MaxBackoff < c.FirstBackoff:
		return fmt.Errorf("maxBackoff: must not be less than firstBackoff, got %s", c.MaxBackoff)
	}
	return nil
}
