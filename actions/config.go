package actions

import (
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	"github.com/flyte-binary/flyte-binary/internal/backoff"
)

// Config configures the service.
type Config struct {
	// CallTimeout bounds each call to the runs service. It is less than the 5 s that the SDK waits for Enqueue, so
	// that the SDK gets an error it understands instead of its own deadline.
	CallTimeout time.Duration `mapstructure:"callTimeout"`
	// Watch configures WatchForUpdates.
	Watch WatchConfig `mapstructure:"watch"`
	// TaskActions configures the owner of TaskAction objects.
	TaskActions taskactions.Config `mapstructure:"taskActions"`
}

// WatchConfig configures WatchForUpdates.
type WatchConfig struct {
	// MaxLifetime is how long one stream lasts; then it ends cleanly and the client subscribes again.
	MaxLifetime time.Duration `mapstructure:"maxLifetime"`
	// MaxSilence is how long the runs service may send nothing, not even a heartbeat, before the stream is opened again.
	MaxSilence time.Duration `mapstructure:"maxSilence"`
	// MaxOutage is how long the runs service may be unavailable before the stream ends with the code unavailable.
	MaxOutage time.Duration `mapstructure:"maxOutage"`
	// Backoff is the pause after a failure to reach the runs service.
	Backoff backoff.Config `mapstructure:"backoff"`
}

// DefaultConfig suits the released SDK.
func DefaultConfig() Config {
	return Config{
		CallTimeout: 4 * time.Second,
		Watch: WatchConfig{
			MaxLifetime: time.Hour,
			MaxSilence:  time.Minute,
			MaxOutage:   20 * time.Second,
			Backoff:     backoff.Config{First: 100 * time.Millisecond, Max: 2 * time.Second},
		},
		TaskActions: taskactions.DefaultConfig(),
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
	if err := c.TaskActions.Validate(); err != nil {
		return fmt.Errorf("taskActions.%w", err)
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
	}
	if err := c.Backoff.Validate(); err != nil {
		return fmt.Errorf("backoff.%w", err)
	}
	return nil
}
