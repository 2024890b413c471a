package events

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

// Config configures the service.
type Config struct {
	// MaxBatch is how many transitions one call to the runs service carries at most. The transitions of one report stay
	// together, even if there are more.
	MaxBatch int `config:"maxBatch"`
	// CallTimeout bounds one call, so that a call that hangs is retried.
	CallTimeout time.Duration `config:"callTimeout"`
	// Backoff is the pause before a failed call is retried.
	Backoff backoff.Config `config:"backoff"`
}

// DefaultConfig suits a runs service in the same process or the same cluster.
func DefaultConfig() Config {
	return Config{
		MaxBatch:    500,
		CallTimeout: 30 * time.Second,
		Backoff:     backoff.Config{First: 50 * time.Millisecond, Max: 5 * time.Second},
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.MaxBatch <= 0, "maxBatch: must be positive, got %d", c.MaxBatch)
	found.If(c.CallTimeout <= 0, "callTimeout: must be positive, got %s", c.CallTimeout)
	found.Section("backoff", c.Backoff.Validate())
	return found.Err()
}
