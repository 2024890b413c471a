package actions

import (
	"time"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

// Config configures the service.
type Config struct {
	// CallTimeout bounds each call to the runs service. It is less than the 5 s that the SDK waits for Enqueue, so
	// that the SDK gets an error it understands instead of its own deadline.
	CallTimeout time.Duration `config:"callTimeout"`
	// Watch configures WatchForUpdates.
	Watch WatchConfig `config:"watch"`
	// TaskActions configures the owner of TaskAction objects.
	TaskActions taskactions.Config `config:"taskActions"`
}

// WatchConfig configures WatchForUpdates.
type WatchConfig struct {
	// MaxLifetime is how long one stream lasts; then it ends cleanly and the client subscribes again.
	MaxLifetime time.Duration `config:"maxLifetime"`
	// MaxSilence is how long the runs service may send nothing, not even a heartbeat, before the stream is opened again.
	MaxSilence time.Duration `config:"maxSilence"`
	// MaxOutage is how long the runs service may be unavailable before the stream ends with the code unavailable.
	MaxOutage time.Duration `config:"maxOutage"`
	// Backoff is the pause after a failure to reach the runs service.
	Backoff backoff.Config `config:"backoff"`
}

// DefaultConfig suits the released SDK.
func DefaultConfig() Config {
	return Config{
		CallTimeout: 4 * time.Second,
		Watch: WatchConfig{
			MaxLifetime: time.Hour,
			MaxSilence:  stream.MaxSilence,
			MaxOutage:   20 * time.Second,
			Backoff:     backoff.Config{First: 100 * time.Millisecond, Max: 2 * time.Second},
		},
		TaskActions: taskactions.DefaultConfig(),
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.CallTimeout <= 0, "callTimeout: must be positive, got %s", c.CallTimeout)
	found.Section("watch", c.Watch.Validate())
	found.Section("taskActions", c.TaskActions.Validate())
	return found.Err()
}

// Validate lists the fields that are wrong.
func (c WatchConfig) Validate() error {
	var found invalid.Fields
	found.If(c.MaxLifetime <= 0, "maxLifetime: must be positive, got %s", c.MaxLifetime)
	found.If(c.MaxSilence <= 0, "maxSilence: must be positive, got %s", c.MaxSilence)
	found.If(c.MaxOutage <= 0, "maxOutage: must be positive, got %s", c.MaxOutage)
	found.Section("backoff", c.Backoff.Validate())
	return found.Err()
}
