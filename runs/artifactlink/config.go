package artifactlink

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

// Config says how the artifacts that tasks declare are registered, and how uses of artifacts are found.
type Config struct {
	// Timeout bounds the registration of the outputs of one action. Default 30s.
	Timeout time.Duration `config:"timeout"`
	// Backoff is the pause before a registration that failed is tried again. It varies by a quarter. Defaults 1s, at
	// most 5m.
	Backoff backoff.Config `config:"backoff"`
	// Parallel is how many registrations are in flight at once. Default 8.
	Parallel int `config:"parallel"`
	// Poll is how often the list of outputs is read when nothing is added to it: for outputs that are tried again. Default 2s.
	Poll time.Duration `config:"poll"`
	// UsesEvery is the pause between two readings of inputs for the artifacts among them. Default 2s.
	UsesEvery time.Duration `config:"usesEvery"`
	// Lease is how long the replica that registers may be silent before another takes over. Default 6s.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		Timeout: 30 * time.Second, Backoff: backoff.Config{First: time.Second, Max: 5 * time.Minute},
		Parallel: 8, Poll: 2 * time.Second, UsesEvery: 2 * time.Second, Lease: 6 * time.Second,
	}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.Section("backoff", c.Backoff.Validate())
	found.If(c.Timeout <= 0, "timeout: must be positive, got %s", c.Timeout)
	found.If(c.Parallel < 1, "parallel: must be at least 1, got %d", c.Parallel)
	found.If(c.Poll <= 0, "poll: must be positive, got %s", c.Poll)
	found.If(c.UsesEvery <= 0, "usesEvery: must be positive, got %s", c.UsesEvery)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}
