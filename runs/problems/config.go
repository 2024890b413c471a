package problems

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

// Config says how failures are grouped over runs.
type Config struct {
	// Every is the pause between two readings of the list of failures that are not counted. Default 2s.
	Every time.Duration `config:"every"`
	// Backoff is the pause before a log that could not be searched for a traceback is read again. It varies by a quarter. Defaults
	// 30s, at most 30m.
	Backoff backoff.Config `config:"backoff"`
	// Keep is how many problems are kept for each project and domain; those that were not seen for longest are deleted. Default
	// 10000.
	Keep int `config:"keep"`
	// Lease is how long the replica that counts may be silent before another takes over. Default 6s.
	Lease time.Duration `config:"lease"`
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{Every: 2 * time.Second, Backoff: backoff.Config{First: 30 * time.Second, Max: 30 * time.Minute}, Keep: 10_000, Lease: 6 * time.Second}
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.Section("backoff", c.Backoff.Validate())
	found.If(c.Every <= 0, "every: must be positive, got %s", c.Every)
	found.If(c.Keep < 1, "keep: must be at least 1, got %d", c.Keep)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	return found.Err()
}
